#include "experiments/studies/run/trial.h"

#include <algorithm>

#include "engine/parallel.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

TrialConfig small_trial(const std::vector<std::string>& settings = {}) {
  const StudyFile file(small_study());
  return load_study(file.path(), base_profile, settings).trials.at(0).config;
}

TrialRecord train(const TrialConfig& config, const StepHook& on_step = {}) {
  return run_trial(config, *headroom::tasks::make_task(config.task, {}), on_step);
}

StudyResults run_all(const Study& study, int jobs, int threads) {
  const TemporaryFolder out;
  const RunOptions options{.out = out.path(), .jobs = jobs, .threads = threads, .output = ProgressOutput::none};
  REQUIRE(run_trials(study, options));
  return collect_results(study, out.path());
}

/// The small study with two series.
Study two_series() {
  const StudyFile file(small_study() +
                       "series = \"a\"\n[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n"
                       "model.positions = \"alibi\"\n");
  return load_study(file.path());
}

}  // namespace

TEST_CASE("training lowers the error, and the same config gives the same bits on any number of threads") {
  const TrialConfig config =
      small_trial({"train.steps=200", "train.batch=16", "sweep.\"train.optimizer.lr\"={best_of=[1e-2]}"});
  const TrialRecord short_one = train(small_trial({"train.steps=1"}));
  const TrialRecord outcome = train(config);
  REQUIRE(outcome.status == TrialStatus::finished);
  CHECK(outcome.test.at("relative_mse") < 0.5 * short_one.test.at("relative_mse"));
  CHECK(outcome.test.at("mse") != outcome.validation.at("mse"));
  const headroom::engine::ThreadScope two(2);
  const TrialRecord again = train(config);
  CHECK(again.test == outcome.test);
  CHECK(again.validation == outcome.validation);
}

TEST_CASE("another seed gives another result on the same test set") {
  TrialConfig config = small_trial();
  const double first = train(config).test.at("mse");
  config.seed += 1;
  CHECK(train(config).test.at("mse") != first);
}

TEST_CASE("the best weights are those of the smallest validation error") {
  // A rate this high makes the error jump about, so that the last evaluation is not the best.
  const std::vector<std::string> wild{"train.steps=55", "train.eval_every=5",
                                      "sweep.\"train.optimizer.lr\"={best_of=[0.3]}"};
  std::vector<std::string> best = wild;
  best.push_back("train.judged=\"best\"");
  const TrialRecord last_one = train(small_trial(wild)), best_one = train(small_trial(best));
  REQUIRE(last_one.status == TrialStatus::finished);
  REQUIRE(best_one.status == TrialStatus::finished);
  std::vector<double> errors;
  for (const HistoryPoint& p : best_one.history)
    if (p.split == "validation" && p.metric == "mse") errors.push_back(p.value);
  REQUIRE(errors.size() == 11);
  const double least = *std::min_element(errors.begin(), errors.end());
  CHECK(best_one.validation.at("mse") == least);
  CHECK(last_one.validation.at("mse") == errors.back());
}

TEST_CASE("a loss that is not finite ends the trial as failed, with the step, the last loss and the gradient norm") {
  const TrialRecord outcome = train(
      small_trial({"train.steps=400", "train.optimizer.kind=\"sgd\"", "sweep.\"train.optimizer.lr\"={best_of=[1e6]}"}));
  CHECK(outcome.status == TrialStatus::failed);
  CAPTURE(outcome.message);
  CHECK(contains(outcome.message, "failed at step "));
  CHECK(contains(outcome.message, " is not finite (last finite loss "));
  CHECK(contains(outcome.message, ", gradient norm "));
  CHECK(outcome.test.empty());
}

TEST_CASE("a hook that says no stops a trial") {
  int64_t steps = 0;
  const TrialRecord outcome = train(small_trial(), [&](int64_t step, double) {
    steps = step;
    return step < 3;
  });
  CHECK(outcome.status == TrialStatus::stopped);
  CHECK(steps == 3);
}

TEST_CASE("metrics do not depend on how many trials run at once, nor on their threads") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  const StudyResults one = run_all(study, 1, 1), two = run_all(study, 2, 2), wide = run_all(study, 1, 3);
  REQUIRE(one.trials.size() == 8);
  REQUIRE(two.trials.size() == 8);
  for (size_t i = 0; i < one.trials.size(); ++i) {
    CHECK(one.trials[i].status == TrialStatus::finished);
    CHECK(one.trials[i].id == two.trials[i].id);
    CHECK(one.trials[i].test == two.trials[i].test);
    CHECK(one.trials[i].test == wide.trials[i].test);
  }
}

TEST_CASE("a failed trial is kept and tried again, and the others go on") {
  const StudyFile file(replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [1e-3, 1e12]"));
  const Study study = load_study(file.path(), base_profile, {"train.optimizer.kind=\"sgd\"", "train.steps=40"});
  const StudyResults results = run_all(study, 2, 2);
  int failed = 0, finished = 0;
  for (const TrialRecord& trial : results.trials) {
    const bool wild = trial.choice.at("train.optimizer.lr") == 1e12;
    CHECK((trial.status == TrialStatus::failed) == wild);
    (wild ? failed : finished) += 1;
  }
  CHECK(failed == 4);
  CHECK(finished == 4);
  CHECK(results.planned == 8);
}

TEST_CASE("a stop from outside keeps what is finished, and a second run does the rest only") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  const TemporaryFolder out;
  std::atomic<bool> stop{true};
  const RunOptions options{.out = out.path(), .output = ProgressOutput::none, .stop = &stop};
  CHECK_FALSE(run_trials(study, options));
  CHECK(collect_results(study, out.path()).trials.empty());
  stop = false;
  CHECK(run_trials(study, options));
  const StudyResults first = collect_results(study, out.path());
  CHECK(run_trials(study, options));
  const StudyResults second = collect_results(study, out.path());
  REQUIRE(first.trials.size() == second.trials.size());
  for (size_t i = 0; i < first.trials.size(); ++i) CHECK(first.trials[i].seconds == second.trials[i].seconds);
}

TEST_CASE("a run tells once of each series that has all its trials, also where another process trains the last one") {
  const Study study = two_series();
  const PlannedTrial& last = study.trials.back();
  REQUIRE(last.series == "b");
  const TemporaryFolder done, out;
  RunOptions options{.out = done.path(), .jobs = 1, .output = ProgressOutput::none};
  REQUIRE(run_trials(study, options));
  options.out = out.path();
  const RunStore from(study_folder(study, done.path()) / "store.sqlite", RunStore::Access::read);
  RunStore store(study_folder(study, out.path()) / "store.sqlite");
  for (const PlannedTrial& trial : study.trials)
    if (trial.series == "b" && trial.id != last.id) store.put(*from.find(trial.id));
  TrialRecord failed;
  failed.id = last.id;
  failed.status = TrialStatus::failed;
  store.put(failed);
  const Owner other = this_process();
  REQUIRE(store.acquire(last.id, last.label, other, store.known(last.id), wall_clock()) == LeaseResult::taken);
  std::vector<std::string> told;
  options.after_series = [&](const Analysis& so_far, const std::string& series) {
    told.push_back(fmt::format("{} {}", series, so_far.trials.size()));
    if (series == "a") store.put(*from.find(last.id), &other);
    return std::vector<std::string>();
  };
  REQUIRE(run_trials(study, options));
  CHECK(told == std::vector<std::string>{"a 8", "b 16"});  // with the failed trial b had all of its own before
}

TEST_CASE("an error on what a series has come to ends that news, not the run") {
  const TemporaryFolder out;
  int asked = 0;
  RunOptions options{.out = out.path(), .output = ProgressOutput::none};
  options.after_series = [&](const Analysis&, const std::string&) -> std::vector<std::string> {
    ++asked;
    headroom::fail("no verdict");
  };
  CHECK(run_trials(two_series(), options));
  CHECK(asked == 1);
}
