#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/preflight.h"
#include "experiments/studies/run/runner.h"

namespace headroom::experiments {

/// Seconds for the parts of a trial.
struct TrialTimes {
  double setup = 0;    ///< before the first update
  double step = 0;     ///< one update
  double measure = 0;  ///< one pass over a fixed set
};

/// Trials that cost the same: they differ in seed, learning rate or series only.
struct CostGroup {
  const PlannedTrial* sample = nullptr;
  int64_t trials = 0;  ///< in the first round
  int64_t most = 0;    ///< in all possible rounds
  int64_t parameters = 0;
  double flops = 0;  ///< of one trial's training
  double work = 0;   ///< of one step: FLOPs, and attention's work besides products
  TrialTimes times{};
  bool is_timed = false;  ///< if false, scaled from the timed group nearest in work
  double trial_seconds = 0;
};

/// The predicted cost of a study.
struct DryRun {
  int64_t trials = 0;  ///< distinct ones of the first round
  int64_t most = 0;    ///< in all possible rounds (run/rounds.h)
  LeftOut left_out{};  ///< not among them
  int jobs = 1;        ///< running at once
  int64_t least_parameters = 0, most_parameters = 0;
  double flops = 0;          ///< of all trials of the first round
  int64_t peak_bytes = 0;    ///< tensors held at once, `jobs` trials of the largest timed group together
  double seconds = 0;        ///< of the first round: groups' trials handed to `jobs` workers in the order of the plan
  double most_seconds = 0;   ///< of all possible rounds
  double timed_seconds = 0;  ///< the time the calibration itself took
  std::vector<CostGroup> groups;
  std::vector<size_t> group_of;  ///< each trial's group, in the order of the plan, those of the first round first
  size_t costliest = 0;          ///< the group whose trial takes longest
};

/// The amount of timing to do.
struct DryRunEffort {
  size_t groups = 12;        ///< at most
  int64_t fewest_steps = 5;  ///< of a trial
  double seconds = 0.6;      ///< of timed steps that suffice, per group
};

/// Times a few steps of sample trials, by default at most twelve groups from the cheapest to the most expensive, with
/// as many running side by side as the study would have, and adds up. Nothing is kept. What is finished already counts
/// as if it were not; an early stop is not foreseen, a trial that diverges is taken for one that does not, and every
/// second validation is taken to be the best so far. Nothing when `options.stop` was raised before the end. Throws
/// Error as the tasks do, and when a sample cannot be trained.
std::optional<DryRun> dry_run(const Study& study, const RunOptions& options, const DryRunEffort& effort = {});

/// Formats it in words, a line per group.
std::string dry_run_text(const Study& study, const DryRun& result);
/// Formats it as one line of JSON: an event "dry-run" with a list of the groups.
std::string dry_run_json(const Study& study, const DryRun& result);

}  // namespace headroom::experiments
