#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "experiments/output/plot/svg.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/studies/analysis/standings.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/pages/how_many_heads.h"
#include "experiments/studies/pages/report.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::contains;
using testing::read_bytes;
using testing::TemporaryFolder;
using Standing = HeadChoice::Option::Standing;

/// errors[i][s] as trained models of width 16 with xs[i] heads.
StudyResults trained(const std::vector<double>& xs, const std::vector<std::vector<double>>& errors) {
  StudyResults r = testing::study(xs, errors);
  for (TrialRecord& t : r.trials) {
    t.steps = 300;
    t.config = fmt::format(R"({{"task": {{"kind": "linear-functional"}},
                               "model": {{"qk_dim": {0}, "v_dim": {0}, "width": 16, "positions": "alibi"}},
                               "train": {{"steps": 300}}}})",
                           16 / t.x);
  }
  return r;
}

}  // namespace

TEST_CASE("of the numbers of heads, those that are shown to be worse, as good, and those that are not") {
  const StudyResults r = trained({1, 2, 4, 8}, {{2.00, 2.02, 2.04, 2.01},   // twice the error
                                                {1.00, 1.01, 1.02, 1.005},  // as good
                                                {1.00, 1.01, 1.02, 1.006},  // the best or level with it
                                                {0.8, 1.6, 1.9, 0.7}});     // anything
  const auto choice = head_choice(analyse(r), "");
  REQUIRE(choice.has_value());
  CHECK(choice->margin == 1.1);
  CHECK(choice->seeds == 4);
  CHECK(choice->positions == "alibi");
  CHECK(choice->best().heads == 2);
  CHECK(choice->options[0].standing == Standing::worse);
  CHECK(choice->options[0].qk_dim == 16);
  CHECK(choice->options[3].standing == Standing::open);
  // The last option might be far better than any: nothing is shown to be as good.
  CHECK(choice->options[2].standing == Standing::open);

  StudyResults three = r;
  std::erase_if(three.trials, [](const TrialRecord& t) { return t.x == 8; });
  CHECK_FALSE(head_choice(analyse(three), "").has_value());  // trials are missing
  three.planned = count_trials(three.trials);
  const auto without = head_choice(analyse(three), "");
  REQUIRE(without.has_value());
  CHECK(without->options[2].standing == Standing::as_good);
  CHECK(without->options[0].standing == Standing::worse);
}

TEST_CASE("a terminal says which x to use, which are as good, open and worse, with a claim or without") {
  StudyResults r =
      trained({1, 2, 4, 8},
              {{2.00, 2.02, 2.04, 2.01}, {1.00, 1.01, 1.02, 1.005}, {1.00, 1.01, 1.02, 1.006}, {0.8, 1.6, 1.9, 0.7}});
  CHECK(contains(terminal_table(analyse(r)),
                 "heads: best so far 2 · open 4, 8 · worse 1\n"
                 "the first is the best on validation; as good, open, worse: by 10 % of the mse, over 4 seeds\n\n"));
  std::erase_if(r.trials, [](const TrialRecord& t) { return t.x == 8; });
  CHECK_FALSE(contains(terminal_table(analyse(r)), "use 2"));  // trials are missing
  r.planned = count_trials(r.trials);
  CHECK(contains(terminal_table(analyse(r)), "heads: use 2 · as good 4 · worse 1\n"));
  const auto choice = head_choice(analyse(r), "");
  const auto all = standings(analyse(r), "");
  REQUIRE(all.has_value());
  for (size_t i = 0; i < 3; ++i) CHECK(all->at[i].second == choice->options[i].standing);
  r.claims = {testing::claim("interior_optimum")};
  r.report.x_key = "model.layers";  // any axis
  CHECK(contains(terminal_table(analyse(r)), "layers: use 2 · as good 4 · worse 1\n"));
  std::erase_if(r.trials, [first = r.trials[0].seed](const TrialRecord& t) { return t.seed != first; });
  r.planned = count_trials(r.trials);
  CHECK(contains(terminal_table(analyse(r)), "over 1 seed\n"));
  for (TrialRecord& t : r.trials) t.steps = 0;  // formulas
  CHECK_FALSE(contains(terminal_table(analyse(r)), ": use "));
}

TEST_CASE("a number of heads at which a seed did not learn decides nothing, as in a claim") {
  StudyResults r = trained({1, 2, 4}, {{0.20, 0.203, 0.202}, {0.10, 0.101, 0.102}, {0.90, 0.91, 0.80}});
  CHECK(head_choice(analyse(r), "")->options[2].standing ==
        Standing::worse);  // an error without a limit of what is learned
  r.claims = {testing::claim("interior_optimum")};
  r.claims[0].learned_at = 0.5;
  const auto choice = head_choice(analyse(r), "");
  CHECK(choice->is_learned);
  CHECK(choice->options[0].standing == Standing::worse);  // than the best, where every seed learned
  CHECK(choice->options[2].standing == Standing::open);
  CHECK(choice->options[2].unlearned == 3);
  CHECK(choice->best_standing == Standing::open);  // it is not shown to be as good as what was not learned
  r.claims[0].learned_at = 0.05;
  CHECK_FALSE(head_choice(analyse(r), "")->is_learned);
}

TEST_CASE("what a percent is worth in steps, from curves that differ in their steps alone") {
  HeadChoice shorter;
  shorter.study = "text", shorter.setting = "RoPE, D 64", shorter.margin = 1.01;
  shorter.options = {{.heads = 4, .qk_dim = 16, .v_dim = 16, .ratio = 1, .standing = Standing::best}};
  HeadChoice longer = shorter;
  shorter.steps = 1000, shorter.best_mean = 2;
  longer.steps = 4000, longer.best_mean = 1.8;  // ln(2 / 1.8) / ln 4 = 0.0760 per factor e: 1 % is 14.0 % more steps
  CHECK(contains(
      as_markdown(choice_rules({&shorter, &longer})),
      "**A percent of the cross-entropy** is what 14 % more steps gain on texts (median of 1 pair of trainings)."));
  longer.setting = "RoPE, D 128";
  CHECK_FALSE(contains(as_markdown(choice_rules({&shorter, &longer})), "A percent"));
}

TEST_CASE("formulas, other axes and mixed widths leave no choice of heads") {
  const std::vector<std::vector<double>> errors{{1, 1.1}, {0.5, 0.6}, {0.7, 0.8}};
  StudyResults r = trained({1, 2, 4}, errors);
  CHECK(head_choice(analyse(r), "").has_value());
  r.report.x_key = "train.steps";
  CHECK_FALSE(head_choice(analyse(r), "").has_value());
  r = trained({1, 2, 4}, errors);
  for (TrialRecord& t : r.trials) t.steps = 0;
  CHECK_FALSE(head_choice(analyse(r), "").has_value());
  r = trained({1, 2, 4}, errors);
  r.trials[0].config = R"({"model": {"width": 32, "positions": "alibi"}, "train": {"steps": 300}})";
  CHECK_FALSE(head_choice(analyse(r), "").has_value());
  CHECK_FALSE(head_choice(analyse(trained({1, 2, 4}, {{1}, {0.5}, {0.7}})), "").has_value());
}

TEST_CASE("a curve over the width of heads that fill the model is one over their number") {
  const StudyResults r = trained({1, 2, 4}, {{1, 1.01, 1.02}, {0.5, 0.501, 0.51}, {0.7, 0.71, 0.72}});
  StudyResults widths = r;
  widths.report.x_key = "model.head_dim";
  for (TrialRecord& t : widths.trials) {
    t.config.replace(t.config.find("\"qk_dim\""), 0, fmt::format("\"heads\": {}, ", t.x));
    t.x = 16 / t.x;
  }
  const auto by_heads = head_choice(analyse(r), ""), by_width = head_choice(analyse(widths), "");
  REQUIRE(by_width.has_value());
  for (size_t i = 0; i < 3; ++i) {
    CHECK(by_width->options[i].heads == by_heads->options[i].heads);
    CHECK(by_width->options[i].qk_dim == by_heads->options[i].qk_dim);
    CHECK(by_width->options[i].ratio == by_heads->options[i].ratio);
    CHECK(by_width->options[i].standing == by_heads->options[i].standing);
  }
  CHECK(by_width->found->heads == 2);  // upward, from one head on
  for (TrialRecord& t : widths.trials) t.config.replace(t.config.find("\"heads\""), 10, "\"heads\": 2");
  CHECK_FALSE(head_choice(analyse(widths), "").has_value());  // heads of other widths, as many at each
}

TEST_CASE("errors count by a tenth, cross-entropies and accuracies by a hundredth") {
  CHECK(standard_effect("relative_mse") == 1.1);
  CHECK(standard_effect("cross_entropy") == 1.01);
  CHECK(standard_effect("accuracy") == 1.01);
  for (const char* name : {"loss", "val/loss", "eval_perplexity", "Test Acc", "task/acc", "PPL"})
    CHECK(standard_effect(name) == 1.01);
  for (const char* name : {"gloss", "loss_ratio", "accuracies"}) CHECK(standard_effect(name) == 1.1);
}

TEST_CASE("a curve that was not learned, and a setting that two studies share, are counted once or not at all") {
  const std::vector<double> xs{1, 2, 4};
  StudyResults r = trained(xs, {{0.2, 0.21}, {0.1, 0.11}, {0.3, 0.31}});
  StudyResults more = trained(xs, {{0.2, 0.21, 0.22}, {0.1, 0.11, 0.12}, {0.3, 0.31, 0.32}});
  StudyResults lost = trained(xs, {{0.9, 0.91}, {0.6, 0.61}, {0.95, 0.96}});
  for (StudyResults* one : {&r, &more, &lost}) one->report.y_metric = "relative_mse";
  for (StudyResults* one : {&r, &more, &lost})
    for (TrialRecord& t : one->trials) t.test["relative_mse"] = t.validation["relative_mse"] = t.test.begin()->second;
  for (TrialRecord& t : lost.trials) t.config.replace(t.config.find("alibi"), 5, "none");
  const std::vector<HeadChoice> all{*head_choice(analyse(r), ""), *head_choice(analyse(more), ""),
                                    *head_choice(analyse(lost), "")};
  CHECK(all[0].is_learned);
  CHECK_FALSE(all[2].is_learned);
  CHECK(all[0].setting == all[1].setting);
  CHECK(all[0].setting != all[2].setting);
  CHECK(all[0].task == "weighted sums of earlier tokens");
  const auto counted = distinct_learned(all);
  REQUIRE(counted.size() == 1);
  CHECK(counted[0]->seeds == 3);
  CHECK(contains(as_markdown(how_many_heads_page(all, "details.md")),
                 "- Left out: 1 curve on which no number of heads learned the task.\n"));
}

TEST_CASE("of a text's widths those are within 1 % that some curve shows and none contradicts, by scheme") {
  HeadChoice c;
  c.kind = "next-token", c.task = "next token of a text", c.positions = "rope", c.setting = "a";
  c.width = 16, c.margin = 1.01, c.steps = 300, c.layers = 1;
  c.best_standing = Standing::open;
  c.options = {{1, 16, 16, 1, NAN, NAN, Standing::best},
               {2, 8, 8, 1.001, NAN, NAN, Standing::as_good},
               {4, 4, 4, 1.002, NAN, NAN, Standing::as_good}};
  HeadChoice longer = c;
  longer.steps = 900;
  longer.options[2].standing = Standing::worse;
  const std::string page = as_markdown(how_many_heads_page({c, longer}, "details.md"));
  CHECK(contains(page, "| next token of a text | RoPE | 16 | 8 | 16 | 4 | 2 |\n"));
  c.margin = longer.margin = 1.1;
  CHECK_FALSE(contains(as_markdown(how_many_heads_page({c, longer}, "details.md")), "by scheme of positions"));
}

TEST_CASE("the page that answers how many heads") {
  StudyResults r = trained({1, 2, 4}, {{0.200, 0.203, 0.204}, {0.100, 0.101, 0.102}, {0.1001, 0.1012, 0.1021}});
  r.paper = "Fig. 1a";
  r.claims = {testing::claim("interior_optimum"), testing::claim("interior_optimum")};
  r.claims[0].paper = "both ends | are worse";
  r.claims[1].paper = "";
  r.claims[1].ours = "our own words";
  const TemporaryFolder folder;
  write_guide(analysed({r}), folder / "how-many.md");
  const std::string page = read_bytes(folder / "how-many.md");
  CHECK(page.starts_with("# How many attention heads, of what width?\n"));
  CHECK(contains(page,
                 "| weighted sums of earlier tokens | ALiBi | D 16: 2 × 8 | [1 of 1 curve](how-many-details.md) |\n"));
  CHECK(contains(page, "| a text, more than twice as wide | any | 64 up to a model width of 2048 and 128 above | "));
  CHECK(contains(page, "- **One head** is shown to be worse than another number on 1 of 1 curve.\n"));
  CHECK_FALSE(contains(page, "Heads 1 or 2 wide"));  // no curve tried them
  CHECK(contains(page, "Measured: 1 curve of width D 16, with 1 layer, after 300 steps.\n"));
  CHECK(contains(page, "](how-many-details.md)"));
  CHECK_FALSE(contains(page, "both ends"));
  CHECK_FALSE(contains(page, "Left out"));
  const std::string details = read_bytes(folder / "how-many-details.md");
  CHECK_FALSE(contains(details, "our own words"));
  CHECK(contains(details,
                 "| weighted sums of earlier tokens | ALiBi | 2.00× |  | [synthetic](results/synthetic.md) |\n"));
  CHECK(std::filesystem::exists(folder / "how-many.svg"));
  CHECK_FALSE(contains(page + details, "\n\n\n"));
  write_guide(analysed({r}), folder / "how-many.html");
  CHECK(testing::malformed(read_bytes(folder / "how-many.html")) == "");
  CHECK(std::filesystem::exists(folder / "how-many-details.html"));
  CHECK(contains(as_markdown(how_many_heads_page({}, "details.md")), "No curve of trained models"));
}

TEST_CASE("a study that asks for a section of the guide has its answer there") {
  StudyResults r = trained({1, 2, 4}, {{0.200, 0.203, 0.204}, {0.100, 0.101, 0.102}, {0.1001, 0.1012, 0.1021}});
  for (TrialRecord& t : r.trials) t.series = "first";
  const std::vector<TrialRecord> first = r.trials;
  for (const TrialRecord& t : first) r.trials.push_back(testing::in_series(t, "second"));
  r.series = {"first", "second"};
  r.planned = count_trials(r.trials);
  r.guide = "Which end is worse?";
  for (const char* const series : {"first", "second"}) {
    ClaimConfig& claim = r.claims.emplace_back(testing::claim("worse_than_best", {.factor = 1.5}));
    claim.series = series;
    claim.keys.at = series == std::string("first") ? 1 : 4;
    claim.paper = "one end is worse";
  }
  const TemporaryFolder folder;
  write_guide(analysed({r}), folder / "page.md");
  const std::string page = read_bytes(folder / "page-details.md");
  CHECK(contains(page,
                 "## Which end is worse?\n\n- [synthetic](results/synthetic.md): “one end is worse” holds for first, "
                 "fails for second; "
                 "1 holds, 1 fails in a pilot.\n"));
}

namespace {

using Option = HeadChoice::Option;

/// A curve of a task at width 64 under a scheme of positions.
HeadChoice choice_of(const std::string& positions, std::vector<Option> options) {
  HeadChoice choice;
  choice.study = "made";
  choice.task = "sums";
  choice.positions = positions;
  choice.width = 64;
  choice.steps = 100;
  choice.layers = 1;
  choice.margin = 1.1;
  choice.seeds = 3;
  choice.options = std::move(options);
  return choice;
}

}  // namespace

TEST_CASE("one number of heads for a task and a width, and another for a scheme that it is worse under") {
  const HeadChoice added = choice_of("sinusoidal", {{1, 64, 64, 9, 8, 10, Standing::worse},
                                                    {8, 8, 8, 1, NAN, NAN, Standing::best},
                                                    {64, 1, 1, 300, 200, 400, Standing::worse}});
  const HeadChoice turned = choice_of("rope", {{1, 64, 64, 3, 2, 4, Standing::worse},
                                               {8, 8, 8, 1.05, 0.9, 1.2, Standing::open},
                                               {32, 2, 2, 1, NAN, NAN, Standing::best}});
  const HeadChoice learned = choice_of("learned", {{1, 64, 64, 9, 8, 10, Standing::worse},
                                                   {8, 8, 8, 4, 3, 5, Standing::worse},
                                                   {64, 1, 1, 1, NAN, NAN, Standing::best}});
  const std::vector<const HeadChoice*> task{&added, &turned, &learned};
  const HeadAdvice joint = head_advice(task, 64);
  CHECK(joint.heads == 8);
  CHECK(joint.head_dim == 8);
  CHECK(joint.curves.size() == 3);
  CHECK(joint.worse == 1);
  CHECK(joint.open == 2);
  CHECK(joint.times == Approx(std::cbrt(1.05 * 4)));
  CHECK(head_advice(task, 64, "rope").heads == 8);
  CHECK(head_advice(task, 64, "learned").heads == 64);
  CHECK(head_advice(task, 64, "alibi").heads == 8);  // not measured: what all have in common
  CHECK(head_advice(task, 128).heads == 0);
  CHECK(ranked_heads(task).size() == 3);  // 32 heads were tried on one of three curves only

  // What failed to learn counts like what is shown to be worse.
  HeadChoice lost = added;
  lost.options[1].unlearned = 1;
  lost.options[0].standing = Standing::open;
  CHECK(head_advice({&lost}, 64).heads == 1);
}

TEST_CASE("always heads of one width, beside the guideline's search") {
  const HeadChoice a =
      choice_of("sinusoidal", {{4, 16, 16, 1.2, 1.15, 1.3, Standing::worse}, {8, 8, 8, 1, NAN, NAN, Standing::best}});
  HeadChoice b = choice_of("rope", {{4, 16, 16, 1, NAN, NAN, Standing::best}, {8, 8, 8, 1.1, 1, 1.2, Standing::open}});
  b.found = b.options[0];
  b.best_standing = Standing::as_good;
  const std::vector<const HeadChoice*> curves{&a, &b};
  const ChoiceTally wide = always_wide(curves, 16), search = guideline_tally(curves);
  CHECK(wide.curves == 2);
  CHECK(wide.best == 1);
  CHECK(wide.good == 1);
  CHECK(wide.worse == 1);
  CHECK(wide.worst == 1.2);
  CHECK(wide.times == Approx(std::sqrt(1.2)));
  CHECK(always_wide(curves, 32).curves == 0);
  CHECK(search.curves == 1);
  CHECK(search.good == 1);
}

TEST_CASE("the guide's figure has a panel for each task, every curve, and notes of the worst") {
  HeadChoice sums = choice_of("learned", {{1, 64, 64, 200, 150, 300, Standing::worse},
                                          {8, 8, 8, 1, NAN, NAN, Standing::best},
                                          {64, 1, 1, 1233, 900, 2000, Standing::worse}});
  HeadChoice lost = sums;
  lost.positions = "alibi";
  lost.options[2].unlearned = 2;
  lost.options[2].ratio = 4000;
  HeadChoice text =
      choice_of("none", {{1, 64, 64, 1.44, 1.3, 1.5, Standing::worse}, {8, 8, 8, 1, NAN, NAN, Standing::best}});
  text.margin = 1.01;
  text.task = "text";
  const Plot plot = guide_figure({&sums, &lost, &text}).plot;
  CHECK(plot.layers.empty());
  REQUIRE(plot.small.size() == 2);
  CHECK(plot.small[0].title == "text (1)");  // first, whatever the number of curves
  const Plot& panel = plot.small[1];
  CHECK(panel.title == "sums (2)");
  REQUIRE(panel.layers.size() == 4);
  CHECK(panel.layers[0].legend == "mean");
  REQUIRE(panel.layers[0].marks.size() == 3);
  CHECK(panel.layers[0].marks[2].y == Approx(200));
  CHECK(panel.layers[1].legend == "ALiBi");
  CHECK(panel.layers[1].marks.size() == 2);
  CHECK(panel.layers[2].kind == Layer::Kind::crosses);
  CHECK(panel.layers[2].colour == panel.layers[1].colour);
  CHECK(contains(panel.layers[2].marks.at(0).hover, "64 heads of width 1: 4000 times the best, 2 seeds did not learn"));
  CHECK(panel.layers[3].legend == "learned");
  CHECK(panel.layers[3].colour != panel.layers[1].colour);
  CHECK(panel.layers[3].marks.at(0).x == 64);  // apart on paper, not in the numbers
  CHECK(panel.layers[3].times_x != panel.layers[1].times_x);
  REQUIRE(panel.notes.size() == 2);
  CHECK(panel.notes[0].text == "1 wide: 1233×");
  CHECK(panel.notes[1].text == "one head: 200×");
  REQUIRE(plot.small[0].notes.size() == 1);
  CHECK(plot.small[0].notes[0].text == "one head: +44 %");
  CHECK(plot.small[0].y.labels.front() == "best");
  CHECK(plot.small[0].y.labels.back() == "+40 %");
  CHECK(panel.y.labels.back() == "1000×");
  CHECK(plot.small[0].x.high == panel.x.high);
  for (const std::string& drawn : {svg_of(plot), svg_of(plot, {.format = Format::narrow})})
    for (const char* const words : {"● no positions", "━ mean", "+40 %<", "one head: 200×", "error against the best"})
      CHECK(contains(drawn, words));
}

}  // namespace headroom::experiments
