#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/reader.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/volterra_bound.h"

namespace headroom::experiments {
namespace {

/// The table form.
void bind_table(Reader& in, Overlay& overlay) {
  overlay.label = in.text("label", "theory", "name of the curve");
  const Value* list = in.raw("points", "the curve as pairs [x, y]");
  bool ok = list && list->kind == Value::Kind::list && !list->list.empty();
  for (size_t i = 0; ok && i < list->list.size(); ++i) {
    const std::vector<Value>& point = list->list[i].list;
    ok = point.size() == 2 && std::all_of(point.begin(), point.end(), [](const Value& value) {
           return value.is_number() && std::isfinite(value.number());
         });
    if (ok) overlay.points.emplace_back(point[0].number(), point[1].number());
  }
  if (!ok) in.complain("points", "expected a list of pairs [x, y] of numbers");
}

/// The paper's objective of a task for equal heads, at its best split of the heads over lags. What carries a token is
/// the value, so its width is the head's dim.
std::optional<double> bound_of(const TrialConfig& config) {
  if (config.model.groups.size() != 1) return std::nullopt;
  const models::HeadGroup& group = config.model.groups[0];
  if (const auto* task = std::get_if<tasks::VolterraConfig>(&config.task))
    return tasks::volterra_bound(tasks::bound_config(*task), group.heads, group.v_dim);
  const auto* task = std::get_if<tasks::LinearFunctionalConfig>(&config.task);
  if (!task) return std::nullopt;
  std::vector<double> rho = tasks::kernel_values(task->kernel, task->length - 1);
  for (double& value : rho) value = std::abs(value);
  const auto error = tasks::paper_error({task->token_dim, task->kernel.ranks});
  return tasks::equal_heads(rho, group.heads, group.v_dim, error).bound;
}

}  // namespace

Overlay bind_overlay(Reader& report) {
  Overlay overlay;
  const bool is_word = report.is_text("overlay");
  report.when(is_word, "as a string", [&] {
    report.word("overlay", std::nullopt, {"paper-bound"}, "the paper's bound for each x, a heuristic");
  });
  report.when(!is_word, "as a table", [&] {
    report.optional_table("overlay", "a reference curve, in a panel of its own",
                          [&](Reader& in) { bind_table(in, overlay); });
  });
  return overlay;
}

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
