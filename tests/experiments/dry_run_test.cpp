// What a dry run says beforehand against what the run then was; its times are estimates, and only their order is
// checked.
#include "experiments/studies/run/dry_run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

TEST_CASE("a dry run counts what the run then does, and keeps nothing") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  RunOptions options{.out = file.folder() / "runs", .output = ProgressOutput::none};
  options.threads = options.jobs = 2;
  const DryRun before = dry_run(study, options).value();
  CHECK_FALSE(std::filesystem::exists(options.out));
  REQUIRE(run_trials(study, options));
  const StudyResults after = collect_results(study, options.out);
  CHECK(before.trials == std::ssize(after.trials));
  CHECK(before.jobs == 2);
  double flops = 0;
  int64_t least = after.trials[0].parameters, most = least;
  for (const TrialRecord& trial : after.trials) {
    flops += trial.flops;
    least = std::min(least, trial.parameters);
    most = std::max(most, trial.parameters);
  }
  CHECK(before.flops == Approx(flops));
  CHECK(before.least_parameters == least);
  CHECK(before.most_parameters == most);
  CHECK(before.peak_bytes > 0);
  CHECK(std::isfinite(before.seconds));
  double longest = 0, together = 0;
  int64_t trials = 0;
  for (const CostGroup& group : before.groups) {
    CHECK(group.trial_seconds > 0);
    longest = std::max(longest, group.trial_seconds);
    together += static_cast<double>(group.trials) * group.trial_seconds;
    trials += group.trials;
  }
  CHECK(trials == before.trials);
  CHECK(before.groups.at(before.costliest).trial_seconds == longest);
  CHECK(before.seconds >= longest);
  constexpr double rounding = 1e-12;  // the same numbers, added in another order
  CHECK(before.seconds >= together / 2 * (1 - rounding));
  CHECK(before.seconds <= together * (1 + rounding));
}

TEST_CASE("a dry run of a study in rounds tells the first one, and the most that they may come to") {
  const StudyFile file(replaced(small_study(), "best_of = [1e-3, 1e-2]",
                                "best_of = { from = 1e-3, to = 1e-2, extend = true, limits = [1e-4, 0.1] }"));
  const Study study = load_study(file.path());
  RunOptions options;
  options.threads = options.jobs = 1;
  const DryRun result = dry_run(study, options).value();
  CHECK(result.trials == 2 * 3 * 2);
  CHECK(result.most == 2 * 7 * 2);
  CHECK(result.most_seconds > result.seconds);
  CHECK(contains(dry_run_text(study, result), "12 trials in the first round, at most 28 in all rounds, 1 at once"));
  CHECK(contains(dry_run_json(study, result), R"("most_trials":28)"));
}

TEST_CASE("more steps are estimated to take longer in proportion, and a trial that cannot train is an error") {
  const StudyFile file(small_study());
  const RunOptions options{.output = ProgressOutput::none};
  const auto estimate = [&](const char* steps) {
    return dry_run(load_study(file.path(), base_profile, {std::string("train.steps=") + steps}), options).value();
  };
  const DryRun few = estimate("1000"), many = estimate("1000000");
  CHECK(many.flops == Approx(1000 * few.flops));
  CHECK(many.seconds > few.seconds);
  CHECK(many.timed_seconds < many.seconds);
  const StudyFile text(replaced(small_study(),
                                "kind      = \"linear-functional\"\nkernel    = { kind = \"n-gram\", n = 2 }\n"
                                "token_dim = 2\nlength    = 6\nfirst_position = 1",
                                "kind = \"next-token\"\nsource = \"no such file.txt\"\nlength = 6"));
  const Study study = load_study(text.path(), base_profile, {"report.y.metric=\"cross_entropy\""});
  CHECK(contains(error_of([&] { dry_run(study, options); }), "no such file.txt"));
}

TEST_CASE("a dry run that is stopped has no result") {
  const StudyFile file(small_study());
  const std::atomic<bool> stop{true};
  const RunOptions options{.output = ProgressOutput::none, .stop = &stop};
  CHECK_FALSE(dry_run(load_study(file.path(), base_profile, {"train.steps=1000000"}), options));
}

TEST_CASE("run --dry-run --json") {
  const StudyFile file(small_study());
  const auto event = nlohmann::json::parse(output_of(file.folder(), "run study.toml --dry-run --json"));
  CHECK(event.at("event") == "dry-run");
  CHECK(event.at("trials") == 8);
  int64_t trials = 0;
  for (const auto& group : event.at("groups")) trials += group.at("trials").get<int64_t>();
  CHECK(trials == 8);
  CHECK(event.at("groups").at(event.at("costliest").get<size_t>()).at("trial_seconds") <= event.at("seconds"));
}

TEST_CASE("run --dry-run, list") {
  const StudyFile file(small_study());
  const std::string dry = output_of(file.folder(), "run study.toml --dry-run");
  CHECK(contains(dry, "small · paper · 8 trials"));
  for (const char* word : {"parameters", "FLOPs", "memory", "costliest", "time"}) CHECK(contains(dry, word));
  CHECK_FALSE(std::filesystem::exists(file.folder() / "runs"));
  std::ofstream(file.folder() / "broken.toml") << "[study";
  Program list(file.folder(), "list .");
  CHECK(list.wait() == 1);
  CHECK(list.out().starts_with("Heads of models that are trained on targets of a known rule:\n"));
  CHECK(contains(list.out(), "study.toml\n      Small\n      paper: 8 trials"));
  CHECK(contains(list.err(), "broken.toml:1:"));
}

TEST_CASE("a timed trial that diverges does not stop the estimate") {
  const StudyFile file(replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [1e-3, 1e12]"));
  CHECK(contains(
      output_of(file.folder(), "run study.toml --dry-run --set train.optimizer.kind=sgd --set train.steps=200"),
      "8 trials"));
}
