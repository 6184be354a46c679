#include <fmt/core.h>

#include <filesystem>

#include "experiments/output/plot/gnuplot.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/pages/how_many_heads.h"
#include "tests/experiments/studies/pages/folder.h"
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
  const auto choice = head_choice(r, "");
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
  CHECK_FALSE(head_choice(three, "").has_value());  // trials are missing
  three.planned = count_trials(three.trials);
  const auto without = head_choice(three, "");
  REQUIRE(without.has_value());
  CHECK(without->options[2].standing == Standing::as_good);
  CHECK(without->options[0].standing == Standing::worse);
}

TEST_CASE("a number of heads at which a seed did not learn decides nothing, as in a claim") {
  StudyResults r = trained({1, 2, 4}, {{0.20, 0.203, 0.202}, {0.10, 0.101, 0.102}, {0.90, 0.91, 0.80}});
  CHECK(head_choice(r, "")->options[2].standing == Standing::worse);  // an error without a limit of what is learned
  r.claims = {testing::claim("interior_optimum")};
  r.claims[0].learned_at = 0.5;
  const auto choice = head_choice(r, "");
  CHECK(choice->is_learned);
  CHECK(choice->options[0].standing == Standing::worse);  // than the best, where every seed learned
  CHECK(choice->options[2].standing == Standing::open);
  CHECK(choice->options[2].unlearned == 3);
  CHECK(choice->best_standing == Standing::open);  // it is not shown to be as good as what was not learned
  r.claims[0].learned_at = 0.05;
  CHECK_FALSE(head_choice(r, "")->is_learned);
}

TEST_CASE("formulas, other axes and mixed widths leave no choice of heads") {
  const std::vector<std::vector<double>> errors{{1, 1.1}, {0.5, 0.6}, {0.7, 0.8}};
  StudyResults r = trained({1, 2, 4}, errors);
  CHECK(head_choice(r, "").has_value());
  r.report.x_key = "train.steps";
  CHECK_FALSE(head_choice(r, "").has_value());
  r = trained({1, 2, 4}, errors);
  for (TrialRecord& t : r.trials) t.steps = 0;
  CHECK_FALSE(head_choice(r, "").has_value());
  r = trained({1, 2, 4}, errors);
  r.trials[0].config = R"({"model": {"width": 32, "positions": "alibi"}, "train": {"steps": 300}})";
  CHECK_FALSE(head_choice(r, "").has_value());
  CHECK_FALSE(head_choice(trained({1, 2, 4}, {{1}, {0.5}, {0.7}}), "").has_value());
}

TEST_CASE("errors count by a tenth, cross-entropies and accuracies by a hundredth") {
  CHECK(standard_effect("relative_mse") == 1.1);
  CHECK(standard_effect("cross_entropy") == 1.01);
  CHECK(standard_effect("accuracy") == 1.01);
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
  const std::vector<HeadChoice> all{*head_choice(r, ""), *head_choice(more, ""), *head_choice(lost, "")};
  CHECK(all[0].is_learned);
  CHECK_FALSE(all[2].is_learned);
  CHECK(all[0].setting == all[1].setting);
  CHECK(all[0].setting != all[2].setting);
  CHECK(all[0].task == "weighted sums of earlier tokens");
  const auto counted = distinct_learned(all);
  REQUIRE(counted.size() == 1);
  CHECK(counted[0]->seeds == 3);
}

TEST_CASE("the page that answers how many heads") {
  StudyResults r = trained({1, 2, 4}, {{0.200, 0.203, 0.204}, {0.100, 0.101, 0.102}, {0.1001, 0.1012, 0.1021}});
  r.paper = "Fig. 1a";
  r.claims = {testing::claim("interior_optimum"), testing::claim("interior_optimum")};
  r.claims[0].paper = "both ends | are worse";
  r.claims[1].paper = "";
  r.claims[1].ours = "our own words";
  const TemporaryFolder folder;
  write_guide({r}, folder / "how-many.md");
  const std::string page = read_bytes(folder / "how-many.md");
  CHECK(page.starts_with("# How many attention heads, of what width?\n"));
  CHECK(contains(page, "| Fig. 1a | both ends \\| are worse | "));
  CHECK(contains(page, "| **undecided** in a pilot | [synthetic](results/synthetic.md), quick, 3 seeds | "));
  CHECK_FALSE(contains(page, "our own words"));
  CHECK(contains(
      page,
      "| A synthetic curve | D 16, ALiBi, 300 steps, 3 seeds | 0.101 | 2 (8 wide) | 4 (4 wide) |  | 1 (16 wide) | "
      "10 % |"));
  CHECK(contains(page, "- **If you can search:** train with few heads, then with more, each number at its own best "));
  CHECK(contains(page,
                 "On 1 curve, averaged over seeds, the number that this ends at is shown to be within the margin of "
                 "every other on 1, worse than another on 0, and neither on 0.\n"));
  CHECK(contains(page, "- **If you cannot:** up to a model width of 16, take what the table says for your task"));
  CHECK(contains(page,
                 "all of it was measured on 1 curve, on small models of width D 16 with 1 layer, trained for 300 "
                 "steps, all heads D/H wide."));
  CHECK(contains(
      page,
      "| weighted sums of earlier tokens, ALiBi positions | 1 curve, D 16 | 2 heads | 4, 8: good on 1 | worse on "
      "1 of 1 curve (2.00 times the best) | 4 wide: as good on 1 of 1 curve | 0.101 |\n"));
  CHECK(
      contains(page,
               "Starting from the fewest heads and adding more until validation no longer improves ends at the best on "
               "validation on 1 of 1 curves."));
  CHECK(contains(page, "| weighted sums of earlier tokens, ALiBi positions | 1 / 0 / 0 | 1 / 0 / 0 |\n"));
  CHECK(std::filesystem::exists(folder / "how-many.svg") == find_gnuplot().has_value());
  CHECK_FALSE(contains(page, "\n\n\n"));
}

TEST_CASE("claims of several series share a row, and a study's own section says what each came to") {
  StudyResults r = trained({1, 2, 4}, {{0.200, 0.203, 0.204}, {0.100, 0.101, 0.102}, {0.1001, 0.1012, 0.1021}});
  for (TrialRecord& t : r.trials) t.series = "first";
  const std::vector<TrialRecord> first = r.trials;
  for (TrialRecord t : first) {
    t.series = "second";
    t.id += "-second";
    r.trials.push_back(t);
  }
  r.series = {"first", "second"};
  r.planned = count_trials(r.trials);
  r.guide = "Which end is worse?";
  r.question = "Is one head worse?";
  for (const char* const series : {"first", "second"}) {
    ClaimConfig& claim = r.claims.emplace_back(testing::claim("worse_than_best", {.factor = 1.5}));
    claim.series = series;
    claim.keys.at = series == std::string("first") ? 1 : 4;
    claim.paper = "one end is worse";
  }
  const TemporaryFolder folder;
  write_guide({r}, folder / "page.md");
  const std::string page = read_bytes(folder / "page.md");
  CHECK(contains(page, "| **1 holds, 1 fails** in a pilot | [synthetic](results/synthetic.md)"));
  CHECK(contains(page, "pass: first; fail: second"));
  CHECK(contains(page,
                 "## Which end is worse?\n\nIs one head worse? (synthetic, quick)\n\n- “one end is worse” (second) "
                 "does not hold in a pilot: "));
  CHECK(contains(page, " In all: pass: first; fail: second.\n"));
}

TEST_CASE("a figure of all tasks, and one for each where there are several") {
  StudyResults sums = trained({1, 2, 4}, {{0.200, 0.202}, {0.100, 0.101}, {0.100, 0.101}});
  StudyResults products = sums;
  for (TrialRecord& t : products.trials) t.config.replace(t.config.find("linear-functional"), 17, "volterra");
  const HeadChoice a = *head_choice(sums, ""), b = *head_choice(products, "");
  CHECK(guide_figures({}, "heads").empty());
  REQUIRE(guide_figures({a}, "heads").size() == 1);
  CHECK(guide_figures({a}, "heads")[0].plot.id == "heads");
  const std::vector<Figure> figures = guide_figures({a, b}, "heads");
  REQUIRE(figures.size() == 3);
  REQUIRE(figures[0].plot.layers.size() == 2);  // a line for each task
  CHECK(figures[0].plot.layers[0].legend == "products of earlier tokens");
  REQUIRE(figures[0].plot.layers[0].marks.size() == 3);
  CHECK(contains(figures[0].plot.layers[0].marks.back().hover, "times the best (1 of 1 curve)"));
  CHECK(figures[1].plot.id == "heads-products-of-earlier-tokens");
  CHECK(figures[2].plot.title == "Weighted sums of earlier tokens");
  CHECK(figures[2].plot.layers.size() == 1);
}

}  // namespace headroom::experiments
