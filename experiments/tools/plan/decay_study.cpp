#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/tools/plan/decay.h"
#include "experiments/tools/plan/study_run.h"

namespace headroom::experiments {
namespace {

/// attention_at_lag_1, _2, … of a trial; empty when it recorded none.
std::vector<double> recorded_attention(const TrialRecord& trial) {
  std::vector<double> heads;
  for (int64_t lag = 1;; ++lag) {
    const auto found = trial.test.find("attention_at_lag_" + std::to_string(lag));
    if (found == trial.test.end()) return heads;
    heads.push_back(found->second);
  }
}

/// Of the trials that `is_wanted`, the one with the smallest validation error; null for none.
template <class Wanted>
const StudyRun::Trial* best_of(const StudyRun& run, const Wanted& is_wanted) {
  const StudyRun::Trial* best = nullptr;
  for (const StudyRun::Trial& trial : run.trials())
    if (is_wanted(trial) && (!best || validation_error(trial.record) < validation_error(best->record))) best = &trial;
  return best;
}

const tasks::LinearFunctionalConfig* functional_of(const StudyRun::Trial& trial) {
  return trial.config ? std::get_if<tasks::LinearFunctionalConfig>(&trial.config->task) : nullptr;
}

Decay attention_decay(const StudyRun& run, const StudyRun::Trial& trial, std::vector<double> heads, const char* how) {
  Decay decay;
  decay.norms = std::move(heads);
  const double largest = *std::max_element(decay.norms.begin(), decay.norms.end());
  require(largest > 0, "--from-study: {}: the model attends to no lag", run.name());
  for (double& norm : decay.norms) norm /= largest;
  decay.is_estimated = true;
  decay.series = trial.record.series;
  if (const auto* task = functional_of(trial)) decay.token_dim = task->token_dim;
  decay.source = fmt::format("{}: {} of trial {} ({}), validation error {}", run.name(), how,
                             trial.record.id.substr(0, 8), trial.label, rounded(validation_error(trial.record)));
  return decay;
}

}  // namespace

Decay decay_of_study(const StudyRun& run, int64_t terms, const tasks::DataRoots& roots) {
  if (const StudyRun::Trial* best =
          best_of(run, [](const StudyRun::Trial& t) { return !recorded_attention(t.record).empty(); })) {
    return attention_decay(run, *best, recorded_attention(best->record), "attention by lag");
  }
  const auto kept_weights = [&](const StudyRun::Trial& t) {
    return t.config && t.config->model.causal && !run.weights_of(t).empty();
  };
  if (const StudyRun::Trial* best = best_of(run, kept_weights)) {
    std::vector<double> heads;
    try {
      heads = measure_attention(*best->config, run.weights_of(*best), terms, roots);
    } catch (const Error& error) {
      fail("--from-study: {}", error.what());
    }
    return attention_decay(run, *best, std::move(heads), "attention by lag, measured over all layers,");
  }
  const StudyRun::Trial* best = best_of(run, [](const StudyRun::Trial& t) { return functional_of(t) != nullptr; });
  require(best != nullptr,
          "--from-study: {}: no finished trial recorded its attention by lag (causal models of an n-gram do), kept the "
          "weights of a causal model (--set train.keep_weights=true), or learnt a linear functional",
          run.name());
  const tasks::LinearFunctionalConfig& task = *functional_of(*best);
  Decay decay;
  decay.norms = tasks::kernel_values(task.kernel, task.length - 1);
  for (double& norm : decay.norms) norm = std::abs(norm);
  decay.token_dim = task.token_dim;
  decay.series = best->record.series;
  decay.source =
      fmt::format("{}: the target of {}, {}", run.name(),
                  best->record.series.empty() ? "the study" : best->record.series, tasks::describe(task.kernel));
  check_norms(decay.norms);
  return decay;
}

}  // namespace headroom::experiments
