#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/output/units.h"
#include "experiments/studies/run/dry_run.h"
#include "experiments/studies/run/progress.h"

namespace headroom::experiments {
namespace {

/// "white noise: heads=64 lr=0.001 seed=1"
std::string name_of(const PlannedTrial& trial) {
  return trial.series.empty() ? trial.label : trial.series + ": " + trial.label;
}

}  // namespace

std::string dry_run_text(const Study& study, const DryRun& result) {
  const bool has_rounds = result.most > result.trials;
  std::string out = fmt::format(
      "{} · {} · {} trials{}, {} at once\n\n", study.head.id, study.run, result.trials,
      has_rounds ? fmt::format(" in the first round, at most {} in all rounds", result.most) : "", result.jobs);
  out += fmt::format("{:>6}  {:>10}  {:>10}  {:>9}  {:>9}  like\n", "trials", "parameters", "FLOPs each", "ms a step",
                     "each");
  for (const CostGroup& group : result.groups) {
    out += fmt::format("{:>6}  {:>10}  {:>10}  {:>8.3g}{}  {:>9}  {}\n", group.trials,
                       count_text(static_cast<double>(group.parameters)), count_text(group.flops),
                       1e3 * group.step_seconds, group.is_timed ? " " : "*", clock_text(group.trial_seconds),
                       name_of(*group.sample));
  }
  const auto timed =
      std::count_if(result.groups.begin(), result.groups.end(), [](const CostGroup& group) { return group.is_timed; });
  out += fmt::format("\nparameters  {} to {}\n", count_text(static_cast<double>(result.least_parameters)),
                     count_text(static_cast<double>(result.most_parameters)));
  out += fmt::format("FLOPs       {}\n", count_text(result.flops));
  out += fmt::format("memory      {} for {} trials at once\n", bytes_text(static_cast<double>(result.peak_bytes)),
                     result.jobs);
  const CostGroup& costliest = result.groups[result.costliest];
  out += fmt::format("costliest   {} a trial: {}\n", clock_text(costliest.trial_seconds), name_of(*costliest.sample));
  out += fmt::format("time        {}: a few steps of {} of {} kinds of trial were timed{}, in {}\n",
                     clock_text(result.seconds), timed, result.groups.size(),
                     static_cast<size_t>(timed) < result.groups.size() ? " (*: scaled from the nearest)" : "",
                     clock_text(result.timed_seconds));
  if (has_rounds)
    out += fmt::format("at most     {} with every round that there may be\n", clock_text(result.most_seconds));
  return out;
}

std::string dry_run_json(const Study& study, const DryRun& result) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const CostGroup& group : result.groups)
    groups.push_back({{"series", group.sample->series},
                      {"label", group.sample->label},
                      {"trials", group.trials},
                      {"most_trials", group.most},
                      {"parameters", group.parameters},
                      {"flops", group.flops},
                      {"setup_seconds", group.setup_seconds},
                      {"step_seconds", group.step_seconds},
                      {"measure_seconds", group.measure_seconds},
                      {"trial_seconds", group.trial_seconds},
                      {"timed", group.is_timed}});
  const nlohmann::ordered_json event{{"event", "dry-run"},
                                     {"study", study.head.id},
                                     {"profile", study.run},
                                     {"trials", result.trials},
                                     {"most_trials", result.most},
                                     {"jobs", result.jobs},
                                     {"flops", result.flops},
                                     {"bytes", result.peak_bytes},
                                     {"seconds", result.seconds},
                                     {"most_seconds", result.most_seconds},
                                     {"costliest", result.costliest},
                                     {"groups", groups}};
  return event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headroom::experiments
