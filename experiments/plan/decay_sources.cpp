#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "engine/error.h"
#include "experiments/claims/number.h"
#include "experiments/plan/decay.h"
#include "experiments/run/store.h"
#include "models/files/mapped_file.h"
#include "tasks/theory/decay_estimate.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// Of the kinds in a text, as many as keep the equations few enough to solve at once.
int64_t kinds_for(int64_t lags) {
  constexpr int64_t most_equations = 1600, most_kinds = 64;
  return std::clamp<int64_t>(most_equations / (lags + 1), 2, most_kinds);
}

/// attention_at_lag_1, _2, … of a trial; empty when it recorded none.
std::vector<double> attention_of(const TrialRecord& trial) {
  std::vector<double> heads;
  for (int64_t lag = 1;; ++lag) {
    const auto found = trial.test.find("attention_at_lag_" + std::to_string(lag));
    if (found == trial.test.end()) return heads;
    heads.push_back(found->second);
  }
}

double validation_error(const TrialRecord& trial) {
  for (const char* metric : {"relative_mse", "mse"})
    if (const auto found = trial.validation.find(metric); found != trial.validation.end()) return found->second;
  fail("--from-study: trial {} has no validation error", trial.id);
}

}  // namespace

Decay decay_of_text(const std::string& file, int64_t terms) {
  require(terms >= 1 && terms <= 256, "--terms: wants 1 to 256 lags of a text, got {}", terms);
  const models::MappedFile text(file);
  tasks::DecayEstimate found;
  try {
    found = tasks::estimate_decay(text.text(), terms, kinds_for(terms));
  } catch (const Error& error) {
    fail("--from-text: {}: {}", file, error.what());
  }
  Decay decay;
  decay.norms = std::move(found.norms);
  decay.is_estimated = true;
  decay.token_dim = found.symbols;
  decay.source = fmt::format("{}: least squares over {} bytes, {} kinds, explains {:.0f} %, noise {}", file,
                             text.size(), found.symbols, 100 * found.explained, rounded(found.noise));
  require(std::any_of(decay.norms.begin(), decay.norms.end(), [](double norm) { return norm > 0; }),
          "--from-text: {}: no lag 1..{} helps to predict the next byte", file, terms);
  return decay;
}

Decay decay_of_study(const std::string& run) {
  const fs::path path = fs::is_directory(run) ? fs::path(run) / "store.sqlite" : fs::path(run);
  require(fs::is_regular_file(path), "--from-study: {}: no run store; give a folder like runs/ngram-tradeoff/quick",
          run);
  const RunStore store(path, RunStore::Access::read);
  std::optional<TrialRecord> best;
  std::string label;
  for (const PlanEntry& entry : store.plan()) {
    std::optional<TrialRecord> trial = store.find(entry.trial);
    if (!trial || trial->status != TrialStatus::finished || attention_of(*trial).empty()) continue;
    if (best && validation_error(*trial) >= validation_error(*best)) continue;
    best = std::move(trial);
    label = entry.label;
  }
  require(best.has_value(),
          "--from-study: {}: no finished trial recorded its attention by lag, as causal models of an n-gram do", run);
  Decay decay;
  decay.norms = attention_of(*best);
  const double largest = *std::max_element(decay.norms.begin(), decay.norms.end());
  require(largest > 0, "--from-study: {}: the model attends to no lag", run);
  for (double& norm : decay.norms) norm /= largest;
  decay.is_estimated = true;
  decay.source = fmt::format("{}: attention by lag of trial {} ({}), validation error {}", run, best->id.substr(0, 8),
                             label, rounded(validation_error(*best)));
  return decay;
}

}  // namespace headroom::experiments
