#include "experiments/studies/config/sweep.h"

#include <algorithm>

#include "experiments/studies/config/study.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// small_study() with another [sweep] and no claim.
std::string swept(const std::string& sweep) {
  std::string text = small_study();
  const size_t begin = text.find("[sweep]"), end = text.find("[report]"), claim = text.find("[[claim]]");
  return text.substr(0, begin) + "[sweep]\n" + sweep + "\n" + text.substr(end, claim - end);
}

Study plan(const std::string& sweep, const std::vector<std::string>& settings = {}) {
  const StudyFile file(swept(sweep));
  return load_study(file.path(), base_profile, settings);
}

std::string error_in(const std::string& sweep, const std::vector<std::string>& settings = {}) {
  return error_of([&] { plan(sweep, settings); });
}

std::vector<std::string> labels(const Study& study) {
  std::vector<std::string> result;
  for (const PlannedTrial& trial : study.trials) result.push_back(trial.label);
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("every axis beside x that is no best_of makes a curve of its own") {
  const Study study = plan(
      "\"model.heads\" = [1, 2]\n\"model.positions\" = [\"none\", \"alibi\"]\n"
      "\"model.causal\" = [true, false]\n\"train.optimizer.lr\" = { best_of = [1e-3, 1e-2] }");
  CHECK(study.series == Names{"positions=none, causal=true", "positions=none, causal=false",
                              "positions=alibi, causal=true", "positions=alibi, causal=false"});
  CHECK(study.trials.size() == 4 * 2 * 2);
  CHECK(study.trials[0].label == "positions=none causal=true heads=1 lr=0.001 seed=0");
  CHECK(study.trials[0].x == 1);
  CHECK(study.trials.back().series == "positions=alibi, causal=false");
  CHECK(study.trials.back().config.model.positions == headroom::models::Positions::alibi);
  CHECK(!study.trials.back().config.model.causal);
}

TEST_CASE("a key that constraints tie to x one to one makes no curves") {
  const std::string sweep = "\"model.heads\" = [1, 2, 4]\n\"model.head_dim\" = [2, 4, 8]\nseed = [0, 1]\n";
  const std::string tied = "constraint = [\"model.heads * model.head_dim == model.width\"]\n";
  const Study study = plan(sweep + tied);
  CHECK(study.series == Names{""});
  CHECK(study.trials.size() == 3 * 2);
  for (const PlannedTrial& trial : study.trials)
    CHECK(trial.x * static_cast<double>(trial.config.model.groups.at(0).qk_dim) == 8);
  CHECK(plan(sweep + tied + "\"model.positions\" = [\"none\", \"alibi\"]\n").series ==
        Names{"positions=none", "positions=alibi"});
  const std::string loose = "constraint = [\"model.heads * model.head_dim <= model.width\"]\n";
  CHECK(plan(sweep + loose).series == Names{"head_dim=2", "head_dim=4", "head_dim=8"});
  CHECK(plan("\"model.heads\" = [2]\n\"model.head_dim\" = [2, 4]\n" + loose).series ==
        Names{"head_dim=2", "head_dim=4"});
}

TEST_CASE("tables in braces are values like others, named by what is in them or by the file") {
  const std::string kernels = "[{ kind = \"n-gram\", n = 2 }, { kind = \"n-gram\", n = 3 }]";
  const Study study = plan("\"model.heads\" = [1]\n\"task.kernel\" = " + kernels);
  CHECK(study.series == Names{"n-gram n=2", "n-gram n=3"});
  CHECK(study.trials[0].id != study.trials[1].id);
  CHECK(plan("\"model.heads\" = [1]\n\"task.kernel\" = { values = " + kernels + ", names = [\"two\", \"three\"] }")
            .series == Names{"two", "three"});
  CHECK(contains(error_in("\"model.heads\" = [1]\n\"task.kernel\" = { values = " + kernels + ", names = [\"two\"] }"),
                 "sweep.task.kernel.names: expected a string for each of the values"));
}

TEST_CASE("a [[series]] and its axes make a name together, and claims call it by that") {
  const std::string text = swept("\"model.heads\" = [1, 2]\n\"model.positions\" = [\"none\", \"alibi\"]") +
                           "[[series]]\nname = \"wide\"\nmodel.width = 16\n[[series]]\nname = \"narrow\"\n"
                           "sweep.model.positions = [\"none\"]\n[[claim]]\nkind = \"optimum_at\"\namong = [1]\n";
  const StudyFile file(text + "series = \"wide, positions=alibi\"\n");
  CHECK(load_study(file.path()).series ==
        Names{"wide, positions=none", "wide, positions=alibi", "narrow, positions=none"});
  const StudyFile wrong(text + "series = \"wide\"\n");
  CHECK(contains(error_of([&] { load_study(wrong.path()); }), "claim.series: there is no series \"wide\"; the study"));
}

TEST_CASE("zipped keys go together, position by position") {
  const Study study = plan(
      "\"model.heads\" = [1, 2, 4]\n\"model.head_dim\" = [8, 4, 2]\n"
      "zip = [[\"model.heads\", \"model.head_dim\"]]");
  CHECK(labels(study) == Names{"heads=1 head_dim=8 seed=0", "heads=2 head_dim=4 seed=0", "heads=4 head_dim=2 seed=0"});
  CHECK(study.trials[2].x == 4);
  CHECK(study.trials[2].config.model.groups[0].v_dim == 2);
  CHECK(contains(error_in("\"model.heads\" = [1, 2]\n\"model.head_dim\" = [8]\n"
                          "zip = [[\"model.heads\", \"model.head_dim\"]]"),
                 "sweep.zip: model.heads has 2 values, model.head_dim has 1: zipped keys must match in number"));
  CHECK(contains(error_in("\"model.heads\" = [1, 2]\nzip = [[\"model.heads\", \"model.width\"]]"),
                 "sweep.zip: \"model.width\" is no key of this sweep"));
  CHECK(
      contains(error_in("\"model.heads\" = [1, 2]\nzip = [\"model.heads\"]"), "sweep.zip: expected lists of at least"));
}

TEST_CASE("points are trials one by one") {
  const std::string points =
      "points = [{ model.heads = 1, task.kernel = { kind = \"n-gram\", n = 2 } },\n"
      "          { \"task.kernel\" = { kind = \"n-gram\", n = 1 }, model.heads = 4 }]\nseed = [3, 4]";
  const Study study = plan(points);
  REQUIRE(study.trials.size() == 4);
  CHECK(study.trials[2].x == 4);
  CHECK(study.trials[2].seed == 3);
  CHECK(contains(study.trials[2].config.task_record, R"("kernel":{"kind":"n-gram","n":1})"));
  CHECK(study.series == Names{""});
  CHECK(contains(error_in("points = [{ model.heads = 1, model.width = 8 }, { model.heads = 2 }]"),
                 "sweep.points: has the keys model.heads; the first point has model.heads, model.width"));
  CHECK(contains(error_in("points = [{ model.heads = 1, modle.width = 8 }]"), "sweep.points.modle.width: unknown key"));
}

TEST_CASE("the x axis may be a number that a sweep makes of other keys") {
  const Study study = plan("\"model.head_dim\" = [4, 8]",
                           {"model.width=\"heads * head_dim\"", "model.heads=2", "report.x.key=\"model.width\""});
  REQUIRE(study.trials.size() == 2);
  CHECK(study.trials[0].x == 8);
  CHECK(study.trials[1].x == 16);
  CHECK(study.series == Names{""});
  CHECK(contains(error_in("\"model.head_dim\" = [4, 8]\n\"model.qk_dim\" = [4, 8]", {"report.x.key=\"model.width\""}),
                 "sweep: does not sweep the report's x axis, model.width, but more than one other key"));
  CHECK(contains(error_in("\"model.head_dim\" = [4, 8]", {"report.x.key=\"model.wdith\""}),
                 "report.x.key: model.wdith is no number of the trials; did you mean model.width?"));
  CHECK(contains(
      error_in("\"model.activation\" = [\"relu\", \"gelu\"]", {"report.x.key=\"model.activation\""}),
      "report.x.key: the values of model.activation are no numbers; with another x each of them gets a curve"));
  CHECK(contains(error_in("\"model.head_dim\" = [4, 8]"), "sweep: two trials have x = 1: "));
  // One config alone is a study, too.
  const Study single = plan("seed = [5]");
  REQUIRE(single.trials.size() == 1);
  CHECK(single.trials[0].x == 1);
}

TEST_CASE("constraints leave out combinations, and say so when none is left") {
  const std::string grid = "\"model.heads\" = [1, 2, 3, 4]\n\"model.head_dim\" = [2, 4, 8]\n";
  const Study study = plan(grid + "constraint = [\"model.heads * model.head_dim == model.width\"]");
  CHECK(labels(study) == Names{"head_dim=2 heads=4 seed=0", "head_dim=4 heads=2 seed=0", "head_dim=8 heads=1 seed=0"});
  CHECK(
      plan(grid + "constraint = [\"model.heads % 2 == 0\", \"model.head_dim < 8 && model.heads > 2\"]").trials.size() ==
      2);
  CHECK(
      contains(error_in(grid + "constraint = \"model.heads * model.head_dim == 1000\""),
               "29:1: sweep.constraint: no trial meets \"model.heads * model.head_dim == 1000\": it is 0 for all 12"));
  CHECK(contains(error_in(grid + "constraint = [\"model.heads < 2\", \"model.heads > 2\"]"),
                 "sweep.constraint: no trial meets all constraints; 12 combinations were tried"));
  CHECK(contains(error_in(grid + "constraint = \"model.haeds > 2\""),
                 "sweep.constraint: model.haeds is no number of the trial; did you mean model.heads?"));
  CHECK(contains(error_in(grid + "constraint = \"model.heads >\""), "sweep.constraint: cannot evaluate"));
  // What is wrong with a combination that is left out is no problem: 3 heads do not divide the width.
  CHECK(plan("\"model.heads\" = [1, 2, 3]\nconstraint = \"model.width % model.heads == 0\"",
             {"model.head_dim=\"width / heads\""})
            .trials.size() == 2);
}

TEST_CASE("settings and sweeps") {
  const std::string zipped =
      "\"model.heads\" = [1, 2]\n\"model.head_dim\" = [8, 4]\nzip = [[\"model.heads\", \"model.head_dim\"]]";
  CHECK(
      contains(error_in(zipped, {"model.heads=4"}), "--set model.heads=4: model.heads: is swept together with other"));
  CHECK(
      contains(error_in("\"model.heads\" = [1]\n\"task.kernel\" = [{ kind = \"n-gram\", n = 1 }]", {"task.kernel.n=3"}),
               "--set task.kernel.n=3: task.kernel.n: task.kernel is swept as a whole"));
}
