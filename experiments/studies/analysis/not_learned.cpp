#include <algorithm>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/trial_facts.h"

namespace headroom::experiments {
namespace {

struct Floor {
  const char *kind, *source, *tokenizer, *loss;  ///< loss: of instructions
  double nats;
};

/// Counted once from the data, so that pages need none; text_floor_test counts again where the data are there.
constexpr Floor floors[] = {
    {"next-token", "tinyshakespeare", "char", "", 2.5},
    {"masked", "tinyshakespeare", "char", "", 3.12},
    {"next-token", "wikitext-2", "byte", "", 2.34},
    {"instructions", "code-and-math", "byte", "all", 2.63},
    {"instructions", "code-and-math", "byte", "response", 2.71},
};

}  // namespace

std::optional<double> text_floor(const TrialFacts& trial) {
  for (const Floor& floor : floors)
    if (trial.task == floor.kind && trial.source == floor.source && trial.tokenizer == floor.tokenizer &&
        trial.loss == floor.loss)
      return floor.nats;
  return std::nullopt;
}

std::optional<double> learning_limit(const StudyResults& results, const std::string* series) {
  for (const ClaimConfig& claim : results.claims) {
    const bool is_on_it = (claim.metric.empty() || claim.metric == results.report.y_metric) &&
                          (!series || claim.series.empty() || claim.series == *series);
    if (is_on_it && claim.learned_at) return claim.learned_at;
  }
  return std::nullopt;
}

std::optional<Unlearned> Analysis::not_learned() const {
  Unlearned found;
  found.stated = learning_limit(*this);
  bool is_any = false;
  for (const std::string& series : series_names(*this)) {
    const Curve& one = curve(series);
    if (!one.best()) continue;
    const std::optional<double> best = unlearned_best(one, found.stated);
    if (!best) return std::nullopt;
    for (const Point& p : one.points)
      if (!p.steps.empty()) found.steps = std::max(found.steps, *p.steps.rbegin());
    if (!is_any || one.better(*best, found.best)) found.best = *best, found.floor = one.floor;
    is_any = true;
  }
  if (!is_any || found.steps == 0) return std::nullopt;  // what is computed learns nothing
  found.has_length = std::any_of(trials.begin(), trials.end(), [&](const TrialRecord& trial) {
    return trial.data.empty() && facts(trial).has_length;
  });
  return found;
}

}  // namespace headroom::experiments
