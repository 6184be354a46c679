#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/sweep.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/volterra_bound.h"

namespace headroom::experiments {
namespace {

using tasks::LinearFunctionalConfig, tasks::VolterraConfig;

/// The paper's objective of a task for equal heads, at its best split of the heads over lags. What carries a token is
/// the value, so its width is the head's dim.
struct Bound {
  int64_t heads, head_dim;

  std::optional<double> operator()(const LinearFunctionalConfig& task) const {
    std::vector<double> rho = tasks::kernel_values(task.kernel, task.length - 1);
    for (double& value : rho) value = std::abs(value);
    return tasks::equal_heads(rho, heads, head_dim, tasks::paper_error({task.token_dim, task.kernel.ranks})).bound;
  }
  std::optional<double> operator()(const VolterraConfig& task) const {
    return tasks::volterra_bound(tasks::bound_config(task), heads, head_dim);
  }
  template <class Other>
  std::optional<double> operator()(const Other&) const {
    return std::nullopt;
  }
};

std::optional<double> bound_of(const TrialConfig& config) {
  if (config.model.groups.size() != 1) return std::nullopt;
  return std::visit(Bound{config.model.groups[0].heads, config.model.groups[0].v_dim}, config.task);
}

}  // namespace

Overlay paper_bound_overlay(const std::vector<PlannedTrial>& trials, const std::string& series) {
  std::map<double, double> points;
  for (const PlannedTrial& trial : trials) {
    if (trial.series != series || points.count(trial.x) > 0) continue;
    if (const std::optional<double> bound = bound_of(trial.config)) points[trial.x] = *bound;
  }
  return {.series = series,
          .label = "the paper's bound, equal heads (a heuristic)",
          .points = {points.begin(), points.end()}};
}

}  // namespace headroom::experiments
