#include "experiments/tools/plan/study_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/error.h"
#include "engine/linalg/least_squares.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "tasks/theory/bound_terms.h"

namespace headroom::experiments {
namespace {

constexpr const char* metric = "relative_mse";
constexpr size_t fewest_points = 3;
constexpr double any_risk = 0.05;  ///< of the concentration term, which is in no fit

/// The model of a trial that can be a point of a fit; none for others.
const models::HeadGroup* equal_heads_of(const StudyRun::Trial& trial) {
  if (!trial.config || !std::holds_alternative<tasks::LinearFunctionalConfig>(trial.config->task)) return nullptr;
  const auto& groups = trial.config->model.groups;
  const bool is_one_shape = groups.size() == 1 && groups[0].qk_dim == groups[0].v_dim;
  const bool is_measured = trial.record.test.contains(metric) && trial.record.validation.contains(metric);
  return is_one_shape && is_measured ? groups.data() : nullptr;
}

void solve(StudyFit& fit) {
  const auto rows = static_cast<int64_t>(fit.points.size());
  std::vector<double> a, b;
  double mean = 0;
  for (StudyFit::Point& point : fit.points) {
    const tasks::Allocation best = tasks::equal_heads(fit.rho, point.heads, point.head_dim, fit.token_dim);
    const tasks::BoundTerms terms = tasks::bound_terms(fit.rho, best.groups, fit.token_dim, any_risk);
    point.bound = best.bound;
    a.insert(a.end(), {terms.projection, terms.extraction, terms.truncation, 1});
    b.push_back(point.measured);
    mean += point.measured / static_cast<double>(rows);
    fit.has_truncation = fit.has_truncation || terms.truncation > 0;
  }
  const engine::Tensor scales =
      engine::linalg::nnls(engine::Tensor::from<double>({rows, 4}, a), engine::Tensor::from<double>({rows, 1}, b));
  const std::vector<double> x = scales.to_vector<double>();
  fit.projection = x[0], fit.extraction = x[1], fit.truncation = x[2], fit.floor = x[3];
  double left = 0, all = 0;
  for (size_t i = 0; i < fit.points.size(); ++i) {
    StudyFit::Point& point = fit.points[i];
    for (size_t k = 0; k < 4; ++k) point.fitted += x[k] * a[4 * i + k];
    left += std::pow(point.measured - point.fitted, 2);
    all += std::pow(point.measured - mean, 2);
    const double ratio = point.fitted > 0 ? point.measured / point.fitted : std::numeric_limits<double>::infinity();
    fit.times_off = std::max({fit.times_off, ratio, 1 / ratio});
  }
  fit.r2 = all > 0 ? 1 - left / all : 1;
  const auto least = [&](double StudyFit::Point::*value) {
    return std::min_element(fit.points.begin(), fit.points.end(),
                            [&](const auto& one, const auto& other) { return one.*value < other.*value; })
        ->heads;
  };
  fit.measured_best = least(&StudyFit::Point::measured);
  fit.bound_best = least(&StudyFit::Point::bound);
  fit.fitted_best = least(&StudyFit::Point::fitted);
}

std::optional<StudyFit> fit_series(const StudyRun& run, const std::string& series) {
  StudyFit fit;
  fit.series = series;
  double variance = 0;  // of the target, per unit of a token's
  std::map<double, const models::HeadGroup*> heads_at;
  for (const StudyRun::Trial& trial : run.trials()) {
    if (trial.record.series != series) continue;
    const models::HeadGroup* const heads = equal_heads_of(trial);
    if (!heads) return std::nullopt;
    heads_at.try_emplace(trial.record.x, heads);
    if (!fit.rho.empty()) continue;
    const auto& task = std::get<tasks::LinearFunctionalConfig>(trial.config->task);
    fit.rho = tasks::kernel_values(task.kernel, task.length - 1);
    for (double& value : fit.rho) value = std::abs(value), variance += value * value;
    fit.token_dim = task.token_dim;
    fit.width = heads->heads * heads->v_dim;
  }
  if (fit.rho.empty() || variance == 0) return std::nullopt;
  const Curve& measured = run.results().curve(series, metric);
  for (const experiments::Point& point : measured.points) {
    if (!std::isfinite(measured.mean(point))) continue;  // none of its seeds finished
    const models::HeadGroup& heads = *heads_at.at(point.x);
    fit.points.push_back({heads.heads, heads.v_dim, std::sqrt(measured.mean(point) * variance)});
  }
  if (fit.points.size() < fewest_points) return std::nullopt;
  solve(fit);
  return fit;
}

std::string name_of(const StudyFit& fit) { return fit.series.empty() ? "the study" : fit.series; }

}  // namespace

std::vector<StudyFit> fit_study(const StudyRun& run) {
  std::vector<StudyFit> fits;
  if (run.results().report.x_key != "model.heads") return fits;
  for (const std::string& series : series_names(run.results()))
    if (auto fit = fit_series(run, series)) fits.push_back(std::move(*fit));
  return fits;
}

tasks::GroupError fitted_error(const StudyFit& fit, int64_t token_dim) {
  const double unit = fit.has_truncation ? fit.truncation : 1;
  return [fit, unit, token_dim](const tasks::LagGroup& group) {
    const double cost = fit.projection * tasks::projection_error(group.head_dim, token_dim) +
                        fit.extraction * tasks::extraction_error(group.lag, static_cast<double>(group.heads));
    // Where leaving a lag out costs nothing, serving it gains nothing.
    return unit > 0 ? std::min(cost / unit, 1e300) : 1;
  };
}

double fitted_cost(const StudyFit& fit, double objective) {
  return fit.floor + objective * (fit.has_truncation ? fit.truncation : 1);
}

std::vector<PlanTable> fit_tables(const std::vector<StudyFit>& fits) {
  Cells all = {{"fit to", "width", "projection", "extraction", "lag dropped", "floor", "R²", "times off", "best heads",
                "the bound's", "the fit's"}};
  for (const StudyFit& fit : fits)
    all.push_back({name_of(fit), std::to_string(fit.width), rounded(fit.projection), rounded(fit.extraction),
                   fit.has_truncation ? rounded(fit.truncation) : "none was", rounded(fit.floor),
                   fmt::format("{:.2f}", fit.r2), rounded(fit.times_off), std::to_string(fit.measured_best),
                   std::to_string(fit.bound_best), std::to_string(fit.fitted_best)});
  Cells points = {{"heads", "head dim", "measured RMS error", "fit", "measured / fit", "paper's bound"}};
  for (const StudyFit::Point& point : fits[0].points)
    points.push_back({std::to_string(point.heads), std::to_string(point.head_dim), rounded(point.measured),
                      rounded(point.fitted), point.fitted > 0 ? rounded(point.measured / point.fitted) : "–",
                      rounded(point.bound)});
  return {{"Fits to the study", "fit: the bound's terms, scaled to what the study measured", std::move(all)},
          {.name = "Measured and fitted", .cells = std::move(points)}};
}

bool describes(const StudyFit& fit) {
  constexpr double far_off = 2, close = 0.8;
  return fit.times_off <= far_off && fit.r2 >= close;
}

std::string fit_text(const StudyFit& fit) {
  return fmt::format(
      "Fit to {}: measured RMS error ≈ {} projection + {} extraction + {} dropped lags + {}, scales >= 0 by least "
      "squares. R² {:.2f}, off by up to {} times: the bound's shape {}.{}",
      name_of(fit), rounded(fit.projection), rounded(fit.extraction), rounded(fit.truncation), rounded(fit.floor),
      fit.r2, rounded(fit.times_off),
      describes(fit) ? "describes what was measured"
                     : "does not describe what was measured, so no split is planned by it",
      fit.has_truncation && fit.truncation == 0 ? " It charges nothing for a lag without heads." : "");
}

nlohmann::ordered_json fit_json(const StudyFit& fit) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array(), truncation = nullptr;
  if (fit.has_truncation) truncation = fit.truncation;
  for (const StudyFit::Point& point : fit.points)
    points.push_back({{"heads", point.heads},
                      {"head_dim", point.head_dim},
                      {"measured", point.measured},
                      {"fitted", point.fitted},
                      {"bound", point.bound}});
  return {{"series", fit.series},
          {"status", "fit"},
          {"width", fit.width},
          {"token_dim", fit.token_dim},
          {"projection", fit.projection},
          {"extraction", fit.extraction},
          {"truncation", truncation},
          {"floor", fit.floor},
          {"r2", fit.r2},
          {"times_off", fit.times_off},
          {"measured_best_heads", fit.measured_best},
          {"bound_best_heads", fit.bound_best},
          {"fitted_best_heads", fit.fitted_best},
          {"points", std::move(points)}};
}

}  // namespace headroom::experiments
