// What the pages say in words: findings, what would change a verdict, the law, where a plan wins, settings.
#include <fmt/core.h>

#include <cmath>

#include "experiments/output/html.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/pages/set_up.h"
#include "experiments/studies/pages/verdict_change.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;
using testing::contains;

/// Series whose error is a parabola, on logarithms, around 2 · width^0.5 / token_dim^1 heads.
StudyResults lawful() {
  StudyResults r = testing::study({}, {});
  r.report.law = LawConfig{{"model.width", "task.token_dim", "task.length"}, "width / token_dim"};
  for (const auto& [width, token] :
       std::vector<std::pair<double, double>>{{64, 1}, {256, 1}, {1024, 1}, {256, 2}, {1024, 2}, {1024, 4}}) {
    const std::string series = fmt::format("D {}, d {}", width, token);
    r.series.push_back(series);
    for (int i = 0; i < 9; ++i)
      for (int seed : {0, 1, 2}) {
        const double x = std::exp2(i), distance = std::log(x * token / (2 * std::sqrt(width)));
        TrialRecord t = testing::trial(x, seed, std::exp(distance * distance));
        t.series = series;
        t.id = fmt::format("{} {} {}", series, x, seed);
        t.config =
            fmt::format(R"({{"model": {{"width": {}}}, "task": {{"token_dim": {}, "length": 16}}}})", width, token);
        r.trials.push_back(std::move(t));
      }
  }
  r.planned = std::ssize(r.trials);
  return r;
}

}  // namespace

TEST_CASE("the finding is the first decided claim of the paper, and says that a pilot is one") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("optimum_at", {.among = {4}}), claim("interior_optimum")};
  r.claims[0].paper = "";
  r.claims[0].theorem = "four are best";
  for (TrialRecord& t : r.trials) t.steps = 10;
  const std::string found = finding(analyse(r));
  CHECK(
      found.starts_with("“as the paper says” holds in a pilot: after 10 steps, with 1 head "
                        "the error is 101× ["));
  CHECK_FALSE(contains(found, "The claim"));
  r.profile = "paper";
  CHECK(contains(finding(analyse(r)), "“as the paper says” holds: after 10 steps, with 1 head the error is "));
  r.profile = "quick";
  for (TrialRecord& t : r.trials) t.steps = 0;  // a formula is no pilot
  CHECK(contains(finding(analyse(r)), "“as the paper says” holds: with 1 head the error is "));
  std::swap(r.claims[0].ours, r.claims[0].theorem);
  std::vector<Verdict> verdicts = judge(r);
  verdicts[1].status = VerdictStatus::undecided;  // what is decided comes before what is the paper's
  CHECK(contains(finding({r, verdicts}), "“four are best” holds"));
  r.planned = 100;
  CHECK(finding(analyse(r)) == "Not judged: 15 of 100 trials are done.");
  CHECK(finding({r, {}}) == "This profile judges no claim.");
  CHECK(headline(judge(r)) == "The paper’s claims: 1 not run. Our own claims: 1 not run.");
}

TEST_CASE(
    "that nothing was learned is said first, with what to change, until a model has learned or a claim is decided") {
  StudyResults r = testing::study({1, 2}, {{0.996, 0.998}, {1.01, 1.02}});
  r.report.y_metric = "relative_mse";
  for (TrialRecord& t : r.trials) {
    t.test["relative_mse"] = t.test["mse"];
    t.config = R"({"task": {"length": 24}})";
  }
  r.claims = {claim("less_than", {.at = 1, .than = {.at = 2}})};
  CHECK(nothing_learned(analyse(r)).empty());  // nothing was trained
  for (TrialRecord& t : r.trials) t.steps = 600;
  const std::string said =
      "No answer yet: no model learned the task; the best leaves 99.7 % of the variance. Train longer than 600 steps, "
      "or shorten task.length.";
  CHECK(headline(analyse(r)) == said);
  CHECK(terminal_table(analyse(r)).starts_with(said + "\n"));
  r.planned = 8;
  CHECK(headline(analyse(r)).starts_with("No answer yet: no model so far learned the task; "));
  std::vector<Verdict> verdicts = judge(r);
  verdicts[0].status = VerdictStatus::pass;  // of another metric, say
  CHECK_FALSE(contains(headline({r, verdicts}), "No answer"));
  r.claims[0].learned_at = 0.2;
  CHECK(contains(nothing_learned(analyse(r)), "the best relative_mse is 0.997, and learning takes 0.2."));
  for (TrialRecord& t : r.trials) t.test["relative_mse"] /= t.x == 1 ? 10 : 1;
  CHECK(nothing_learned(analyse(r)).empty());
}

TEST_CASE(
    "that nothing was learned of a text is said against the floor of its data, and no context is to be shortened") {
  StudyResults r = testing::study({1, 2}, {{2.61, 2.62}, {2.71, 2.72}});
  r.report.y_metric = "cross_entropy";
  for (TrialRecord& t : r.trials) {
    t.steps = 50;
    t.test["cross_entropy"] = t.test["mse"];
    t.data = {{"tinyshakespeare.txt", "0"}};
    t.config = R"({"task": {"kind": "next-token", "source": "tinyshakespeare", "tokenizer": "char", "length": 32}})";
  }
  CHECK(
      nothing_learned(analyse(r)) ==
      "No answer yet: no model learned the task; the best cross_entropy is 2.61, and learning takes less than the 2.5 "
      "of a table that sees one token alone. Train longer than 50 steps.");
  r.trials[0].test["cross_entropy"] = r.trials[1].test["cross_entropy"] = 2.4;
  CHECK(nothing_learned(analyse(r)).empty());
}

TEST_CASE("the headline says how many seeds would decide") {
  const StudyResults r = testing::study({1}, {{1}});
  std::vector<Verdict> verdicts(3);
  for (Verdict& v : verdicts) {
    v.claim = claim("optimum_at");
    v.status = VerdictStatus::undecided;
    v.seeds_needed = 7;
  }
  verdicts[1].seeds_needed = 12;
  CHECK(headline({r, verdicts}).ends_with("3 undecided. About 12 seeds would decide the 3 undecided claims."));
  verdicts[2].seeds_needed.reset();
  CHECK(headline({r, verdicts}).ends_with(" About 12 seeds would decide 2 of the 3 undecided claims."));
  verdicts.erase(verdicts.begin() + 1, verdicts.end());
  CHECK(headline({r, verdicts}).ends_with(" About 7 seeds would decide the undecided claim."));
}

TEST_CASE("what would change a verdict") {
  StudyResults r = testing::study({1, 2}, {{1, 1.1, 1.2}, {2, 2.2, 2.41}});
  for (TrialRecord& t : r.trials) t.steps = 10;
  r.claims = {claim("less_than", {.at = 1, .than = {.at = 2}})};
  const Verdict pass = judge(r)[0];
  CHECK(pass.margin > 100);
  CHECK(what_would_change(r, pass) == "more than 100 standard errors beyond the threshold");
  r.claims[0].keys.factor = 1.9;
  Verdict near = judge(r)[0];
  REQUIRE((near.margin > 10 && near.margin < 100));
  CHECK(what_would_change(r, near).starts_with(fmt::format("{:.0f} standard errors beyond", near.margin)));
  near.margin = -0.04;
  CHECK(what_would_change(r, near) == "at the threshold");
  r.claims[0].keys.factor = 2.005;  // between the seeds' ratios
  r.profile = "paper";
  const Verdict open = judge(r)[0];
  REQUIRE(open.status == VerdictStatus::undecided);
  CHECK(std::abs(open.margin) < 2);
  CHECK(contains(what_would_change(r, open), " standard errors "));
  CHECK(contains(what_would_change(r, open), open.seeds_needed ? " seeds would decide" : "even 1,000 seeds"));
  r.claims[0].deterministic = true;
  CHECK(what_would_change(r, judge(r)[0]) == "computed, not sampled: more seeds change nothing");
}

TEST_CASE("a study's law of the best number of heads") {
  const StudyResults r = lawful();
  const auto law = analyse(r).law();
  REQUIRE(law);
  REQUIRE(law->law);
  CHECK(law->names == std::vector<std::string>{"width", "token_dim"});
  CHECK(law->notes == std::vector<std::string>{"length does not vary"});
  CHECK(std::exp(law->law->intercept.value) == Approx(2));
  CHECK(law->law->exponents[0].value == Approx(0.5));
  CHECK(law->law->exponents[1].value == Approx(-1));
  CHECK(law->law_factor == Approx(1));
  // width / token_dim is sqrt(width) / 2 times as many: 4, 8, 16, 8, 16, 16.
  CHECK(law->beside_factor == Approx(std::exp(std::log(2) * std::sqrt((4 + 9 + 16 + 9 + 16 + 16) / 6.0))));
  CHECK(contains(law_sentence(*law),
                 "Best heads = 2.00 · width^0.500 [0.500, 0.500] · token_dim^-1.00 [-1.00, -1.00], "
                 "off by a factor of 1.00"));
  CHECK(contains(as_markdown(law_section(analyse(r))), "| D 64, d 1 | 64 | 1 | 16.0 | — | 16.0 | 64.0 |"));
  CHECK(contains(as_text(law_section(analyse(r)), 0), "series"));
  CHECK(contains(as_html({"", law_section(analyse(r))}), "<section id=\"law\">"));
  CHECK(law_section(analyse(testing::u_curve())).empty());

  StudyResults few = r;
  std::erase_if(few.trials, [](const TrialRecord& t) { return t.series > "D 1024, d 1"; });
  CHECK(contains(law_sentence(*analyse(few).law()), "No law of the best heads can be fitted to 1 series"));
  CHECK(
      contains(as_text(law_section(analyse(few)), 0), "D 64, d 1 is left out: its trials have no common model.width"));
}

TEST_CASE("one page as Markdown and as HTML") {
  Block link = paragraph("see ");
  link.line.push_back({.text = "a|b", .link = "x.md", .is_strong = true});
  const Blocks page{title("A <title>"), link, item("one"), item("two"),
                    table("T", {"a", "b"}, {{{{"1 < 2"}}, {{"*"}}}})};
  CHECK(as_markdown(page) ==
        "# A \\<title\\>\n\nsee [**a\\|b**](x.md)\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 \\< 2 | \\* |\n");
  const std::string html = as_html({"", page});
  CHECK(contains(html, "<h1>A &lt;title&gt;</h1>"));
  CHECK(contains(html, "see <b>a|b</b>"));  // no page leads to Markdown
  Block to_page = paragraph("see ");
  to_page.line.push_back({.text = "a|b", .link = "x.html", .is_strong = true});
  CHECK(contains(as_html({"", {to_page}}), "see <a href=\"x.html\"><b>a|b</b></a>"));
  CHECK(contains(html, "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"));
  CHECK(contains(html, "<th scope=\"row\" class=\"word\">1 &lt; 2</th><td class=\"word\">*</td>"));
}

TEST_CASE("the settings say where one rate alone was tried") {
  StudyResults r = testing::study({1, 2, 4}, {{1, 1}, {2, 2}, {3, 3}});
  for (TrialRecord& t : r.trials) {
    t.choice = {{"train.optimizer.lr", 0.01}};
    t.config =
        R"({"model": {"width": 8}, "train": {"steps": 5, "batch": 2, "optimizer": {"kind": "adamw", "lr": 0.01}}})";
  }
  CHECK(contains(settings_line(analyse(r)), "adamw, learning rates 0.01 (one lr for every heads)"));
}

}  // namespace headroom::experiments
