#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/studies/config/beside.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/reader.h"
#include "models/files/regular_file.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/volterra_bound.h"

namespace headroom::experiments {
namespace {

/// Number → number at a path of a JSON file.
std::vector<std::pair<double, double>> read_points(const std::string& file, const Value& path) {
  const std::string text = models::read_file(file, {"file of points (JSON)", uint64_t{1} << 26});
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  require(!document.is_discarded(), "{} is not JSON", file);
  const nlohmann::json* node = &document;
  for (const Value& key : path.list) {
    require(key.kind == Value::Kind::text, "path needs strings");
    require(node->is_object() && node->contains(key.text), "{} has no \"{}\"", file, excerpt(key.text));
    node = &(*node)[key.text];
  }
  require(node->is_object(), "{}: expected an object of number: number there", file);
  std::vector<std::pair<double, double>> points;
  for (const auto& [key, value] : node->items()) {
    const auto x = read_number<double>(key);
    require(x && value.is_number(), "{}: \"{}\" is not number: number", file, excerpt(key));
    points.emplace_back(*x, value.get<double>());
  }
  require(!points.empty(), "{}: has no points there", file);
  std::sort(points.begin(), points.end());
  return points;
}

void bind_points(Reader& in, std::vector<std::pair<double, double>>& points) {
  const Value* list = in.raw("points", "the curve as pairs [x, y], in place of a file");
  if (!list) return;
  bool ok = list->kind == Value::Kind::list && !list->list.empty();
  for (const Value& point : list->list) {
    const auto is_finite = [](const Value& value) { return value.is_number() && std::isfinite(value.number()); };
    const bool is_pair = point.list.size() == 2 && is_finite(point.list[0]) && is_finite(point.list[1]);
    if (is_pair) points.emplace_back(point.list[0].number(), point.list[1].number());
    ok = ok && is_pair;
  }
  if (!ok) in.complain("points", "expected a list of pairs [x, y] of numbers");
}

/// The table form.
void bind_table(Reader& report, const std::string& folder, Overlay& overlay) {
  report.optional_table("overlay", "a reference curve, in a panel of its own", [&](Reader& in) {
    overlay.label = in.text("label", "theory", "name of the curve");
    bind_points(in, overlay.points);
    const std::string file = in.text("file", "", "JSON file, its name relative to the study's folder");
    const Value* path = in.raw("path", "keys that lead to an object of number: number in the file");
    if (file.empty() == overlay.points.empty()) return in.complain("file", "expected either file and path, or points");
    if (file.empty()) return;
    if (!path || path->kind != Value::Kind::list) return in.complain("path", "expected a list of keys");
    in.attempt("file", [&] { overlay.points = read_points(beside({folder + "/"}, file), *path); });
  });
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

Overlay bind_overlay(Reader& report, const std::string& folder) {
  Overlay overlay;
  const bool is_word = report.is_text("overlay");
  report.when(is_word, "as a string", [&] {
    report.word("overlay", std::nullopt, {"paper-bound"}, "the paper's bound for each x, a heuristic");
  });
  report.when(!is_word, "as a table", [&] { bind_table(report, folder, overlay); });
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
