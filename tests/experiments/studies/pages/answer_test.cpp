// The one sentence in which a study answers its question: what it groups, and when an author's own words are refused.
#include "experiments/studies/pages/answer.h"

#include <fmt/core.h>

#include "experiments/studies/pages/headline.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;
using testing::contains;

constexpr VerdictStatus holds = VerdictStatus::pass, fails = VerdictStatus::fail, open = VerdictStatus::undecided;

/// Some series, each a curve of its own model; nothing else tells them apart.
StudyResults with_series(const std::vector<std::pair<std::string, std::string>>& models) {
  StudyResults r = testing::study({}, {});
  r.profile = "paper";
  for (const auto& [series, model] : models) {
    r.series.push_back(series);
    for (const TrialRecord& each : testing::u_curve().trials) {
      TrialRecord& t = r.trials.emplace_back(each);
      t.series = series;
      t.id = series + t.id;
      t.config = fmt::format(R"({{"task": {{"kind": "sum"}}, "model": {{"width": 64, {}}}}})", model);
      t.steps = 400;
    }
  }
  r.planned = std::ssize(r.trials);
  return r;
}

Verdict verdict(const std::string& series, VerdictStatus status, const std::string& words = "the middle is best") {
  Verdict v;
  v.claim = claim("interior_optimum");
  v.claim.series = series;
  v.claim.paper = words;
  v.status = status;
  v.axis = "heads";
  v.numbers = {{"best_x", 4}};
  v.intervals = {{.name = "ratio_low", .value = 3, .of = {.x = 1}, .to = {.x = 4}},
                 {.name = "ratio_high", .value = 2, .of = {.x = 8}, .to = {.x = 4}}};
  return v;
}

std::string words(const StudyResults& r, const std::vector<Verdict>& verdicts) { return answer({r, verdicts}).words; }

const std::string found =
    "with 1 head the error is 3.00× that with 4 heads, the best between the ends, and with 8 heads it is 2.00×";

const std::vector<std::pair<std::string, std::string>> by_positions{{"waves", R"("positions": "sinusoidal")"},
                                                                    {"table", R"("positions": "learned")"},
                                                                    {"slopes", R"("positions": "alibi")"}};

}  // namespace

TEST_CASE("a claim that holds, or fails, in every series is said of all of them at once") {
  const StudyResults r = with_series(by_positions);
  const auto all = [&](VerdictStatus status) {
    return words(r, {verdict("waves", status), verdict("table, 4", status), verdict("slopes", status)});
  };
  CHECK(all(holds) == "“the middle is best” holds for waves; table, 4 and slopes; 3 hold.");
  CHECK(all(fails) == "“the middle is best” fails for waves; table, 4 and slopes; 3 fail.");
}

TEST_CASE("an answer that depends on one setting names it, with its values on both sides") {
  StudyResults r = with_series(by_positions);
  const std::vector<Verdict> verdicts{verdict("waves", holds), verdict("table", fails), verdict("slopes", fails)};
  const std::string said =
      "Depends on positions: “the middle is best” holds with sinusoidal, fails with alibi, learned";
  CHECK(words(r, verdicts) == said + "; 1 holds, 2 fail.");
  r.profile = "quick";
  CHECK(words(r, verdicts) == said + "; 1 holds, 2 fail in a pilot.");
}

TEST_CASE("where two settings, or none, tell the series apart, the series themselves are named") {
  const auto of = [](const std::string& a, const std::string& b) {
    return words(with_series({{"one", a}, {"two", b}}), {verdict("one", holds), verdict("two", fails)});
  };
  const std::string by_series = "“the middle is best” holds for one, fails for two; 1 holds, 1 fail";
  CHECK(of(R"("positions": "rope", "norm": "rms")", R"("positions": "alibi", "norm": "layer")") == by_series + "s.");
  CHECK(of(R"("positions": "rope")", R"("positions": "rope")") == by_series + "s.");
  CHECK(of(R"("positions": "rope")", R"("positions": "alibi")").starts_with("Depends on positions: "));
}

TEST_CASE("what is undecided is said with what holds, and the claim that most series decide is the answer") {
  const StudyResults r = with_series({{"a", R"("norm": "rms")"}, {"b", R"("norm": "rms")"}, {"c", R"("norm": "rms")"}});
  CHECK(words(r, {verdict("a", holds), verdict("b", holds), verdict("c", open)}) ==
        "“the middle is best” holds for a and b, is undecided for c; 2 hold, 1 undecided.");
  std::vector<Verdict> verdicts{verdict("a", holds), verdict("b", open), verdict("a", holds, "narrow is worse"),
                                verdict("b", fails, "narrow is worse")};
  CHECK(words(r, verdicts).starts_with("“narrow is worse” holds for a, fails for b; "));
  verdicts = {verdict("a", holds, "ours"), verdict("b", holds, "ours"), verdict("a", holds), verdict("b", holds)};
  for (Verdict& v : verdicts)
    if (v.claim.paper == "ours") std::swap(v.claim.paper, v.claim.ours);
  CHECK(words(r, verdicts).starts_with("“the middle is best” holds for a and b"));  // the paper's comes first
}

TEST_CASE("a study of one decided claim answers with its numbers; one without claims says so") {
  StudyResults r = testing::u_curve();
  r.profile = "paper";
  for (TrialRecord& t : r.trials) t.steps = 10;
  CHECK(words(r, {verdict("", holds)}) == "“the middle is best” holds: " + found + ".");
  CHECK(words(r, {}) == "This profile judges no claim.");
}

TEST_CASE("while nothing is decided the answer is the finding, and how many seeds would decide is the headline's") {
  StudyResults r = testing::u_curve();
  for (TrialRecord& t : r.trials) t.steps = 10;
  Verdict undecided = verdict("", open);
  undecided.seeds_needed = 9;
  CHECK(words(r, {undecided}) == "“the middle is best” is undecided in a pilot: " + found + ".");
  CHECK(headline({r, {undecided}}).ends_with("1 undecided. About 9 seeds would decide the undecided claim."));
}

TEST_CASE("where nothing was learned that is the answer, unless a claim is decided all the same") {
  StudyResults r = testing::study({1, 2}, {{0.996, 0.998}, {1.01, 1.02}});
  r.report.y_metric = "relative_mse";
  for (TrialRecord& t : r.trials) {
    t.test["relative_mse"] = t.test["mse"];
    t.steps = 600;
  }
  r.answer = {"The middle is best.", {"u"}, {}};  // words for other data than these
  Verdict v = verdict("", open);
  v.claim.id = "u";
  CHECK(words(r, {v}) == nothing_learned(analyse(r)));
  CHECK(words(r, {v}).starts_with("No answer yet: no model learned the task; "));
  v.status = holds;
  CHECK(words(r, {v}) == "The middle is best.");
}

TEST_CASE(
    "the author's words are the answer where every verdict is as they suppose, and are refused where one is not") {
  StudyResults r = with_series(by_positions);
  r.answer = {"A U with waves alone.", {"u"}, {"v", "w"}};
  std::vector<Verdict> verdicts{verdict("waves", holds), verdict("table", fails), verdict("slopes", fails)};
  for (size_t i = 0; i < verdicts.size(); ++i) verdicts[i].claim.id = std::string(1, static_cast<char>('u' + i));
  const Answer own = answer({r, verdicts});
  CHECK(own.words == "A U with waves alone; 1 holds, 2 fail.");
  CHECK(own.mismatch.empty());
  verdicts[0].status = open;
  verdicts[2].status = holds;
  const Answer refused = answer({r, verdicts});
  CHECK(refused.words.starts_with("Depends on positions: “the middle is best” holds with alibi, fails with learned; "));
  CHECK(refused.mismatch ==
        "The study’s own answer, “A U with waves alone.”, supposes that “the middle is best” (waves) holds, and its "
        "verdict is undecided; that “the middle is best” (slopes) fails, and its verdict is pass.");
}

TEST_CASE("rates that were tuned at some numbers of heads only are said in the answer") {
  StudyResults r = testing::study({}, {});
  r.profile = "paper";
  for (const double x : {1, 2})
    for (const double lr : {0.01, 0.02, 0.04}) {
      if (x > 1 && lr > 0.01) continue;
      TrialRecord t = testing::trial(x, 0, x + (lr > 0.01 && lr < 0.03 ? 0 : 1));
      t.choice = {{"train.optimizer.lr", lr}};
      t.id += fmt::format("{}", lr);
      r.trials.push_back(std::move(t));
    }
  r.planned = std::ssize(r.trials);
  const std::string said = words(r, {verdict("", holds)});
  CHECK(said.ends_with(" But lr was tuned at heads = 1, not at 2."));
  for (TrialRecord& t : r.trials) t.choice.clear();
  std::erase_if(r.trials, [](const TrialRecord& t) { return !t.id.ends_with("0.01"); });
  CHECK_FALSE(contains(words(r, {verdict("", holds)}), "tuned"));
}

}  // namespace headroom::experiments
