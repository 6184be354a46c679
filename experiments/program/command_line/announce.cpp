#include "experiments/program/command_line/announce.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "engine/parallel.h"
#include "experiments/output/units.h"
#include "experiments/studies/run/dry_run.h"
#include "experiments/studies/run/known_heads.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/trial.h"
#include "experiments/studies/run/work_pool.h"

namespace headroom::experiments {
namespace {

/// Below ten minutes even where narrow heads train at 2 GFLOP/s a core.
constexpr double certainly_short = 600 * 2e9;

/// The study's first round without the trials that its store knows as finished.
Study without_finished(const Study& study, const std::filesystem::path& out) {
  Study left = study;
  left.later.clear();
  const std::filesystem::path path = study_folder(study, out) / "store.sqlite";
  if (!std::filesystem::exists(path)) return left;
  const RunStore store(path, RunStore::Access::read);
  find_known_heads(left, store);
  const auto known = store.known();
  std::erase_if(left.trials, [&](const PlannedTrial& trial) {
    const auto found = known.find(trial.id);
    return found != known.end() && found->second.is_finished;
  });
  return left;
}

/// Sequences that all trials train on: what profiles of one study are compared by.
double sequences_of(const Study& study) {
  double sum = 0;
  for (const PlannedTrial* trial : distinct_trials(study))
    sum += static_cast<double>(trial->config.train.steps) * static_cast<double>(trial->config.train.batch);
  return sum;
}

}  // namespace

std::optional<double> estimate_run(const Study& study, const RunOptions& options) {
  const Study left = without_finished(study, options.out);
  WorkPool pool(options.data);
  double flops = 0;
  for (const PlannedTrial* trial : distinct_trials(left))
    flops += training_flops(trial->config, pool.get(trial->config));
  const int threads = options.threads > 0 ? options.threads : engine::num_threads();
  if (flops < certainly_short * threads) return std::nullopt;
  const std::optional<DryRun> result = dry_run(left, options, {.groups = 3, .fewest_steps = 2, .seconds = 0.2});
  return result ? std::optional(result->seconds) : std::nullopt;
}

std::string quicker_profile(const std::string& file, const Study& study) {
  const double own = sequences_of(study);
  std::string least;
  double fewest = own;
  for (const Study& other : load_profiles(file)) {
    const double sequences = sequences_of(other);
    if (sequences >= own) continue;
    if (other.profile == "quick") return other.profile;
    if (sequences < fewest) least = other.profile, fewest = sequences;
  }
  return least;
}

std::string announcement(const std::string& file, const Study& study, double seconds) {
  const std::string quicker = quicker_profile(file, study);
  return fmt::format("{} · {}: what is left to train takes about {} by estimate{}", study.head.id, study.run,
                     seconds_text(seconds), quicker.empty() ? "" : fmt::format("; --profile {} takes less", quicker));
}

}  // namespace headroom::experiments
