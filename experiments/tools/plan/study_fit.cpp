#include "experiments/tools/plan/study_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/error.h"
#include "engine/linalg/least_squares.h"
#include "experiments/studies/claims/curve.h"
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
  return is_one_shape && trial.record.test.count(metric) && trial.record.validation.count(metric) ? groups.data()
                                                                                                  : nullptr;
}

/// P, E, T and 1 of one point.
std::vector<double> columns_of(const StudyFit& fit, StudyFit::Point& point) {
  const tasks::Allocation best = tasks::equal_heads(fit.rho, point.heads, point.head_dim, fit.token_dim);
  const tasks::BoundTerms terms = tasks::bound_terms(fit.rho, best.groups, fit.token_dim, any_risk);
  point.bound = best.bound;
  return {terms.projection, terms.extraction, terms.truncation, 1};
}

void solve(StudyFit& fit) {
  const auto rows = static_cast<int64_t>(fit.points.size());
  std::vector<double> a, b;
  double mean = 0;
  for (StudyFit::Point& point : fit.points) {
    const std::vector<double> columns = columns_of(fit, point);
    a.insert(a.end(), columns.begin(), columns.end());
    b.push_back(point.measured);
    mean += point.measured / static_cast<double>(rows);
    fit.has_truncation = fit.has_truncation || columns[2] > 0;
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

std::optional<StudyFit> fit_series(const StudyRun& run, const StudyResults& results, const std::string& series) {
  StudyFit fit;
  fit.series = series;
  double variance = 0;  // of the target, per unit of a token's
  for (const StudyRun::Trial& trial : run.trials()) {
    if (trial.record.series != series) continue;
    const models::HeadGroup* const heads = equal_heads_of(trial);
    if (!heads) return std::nullopt;
    if (fit.rho.empty()) {
      const auto& task = std::get<tasks::LinearFunctionalConfig>(trial.config->task);
      fit.rho = tasks::kernel_values(task.kernel, task.length - 1);
      for (double& value : fit.rho) value = std::abs(value), variance += value * value;
      fit.token_dim = task.token_dim;
      fit.width = heads->heads * heads->v_dim;
    }
  }
  if (fit.rho.empty() || variance == 0) return std::nullopt;
  const Curve measured = curve(results, series, metric);
  for (const experiments::Point& point : measured.points) {
    if (!std::isfinite(measured.mean(point))) continue;  // none of its seeds finished
    for (const StudyRun::Trial& trial : run.trials()) {
      if (trial.record.series != series || trial.record.x != point.x) continue;
      const models::HeadGroup* const heads = equal_heads_of(trial);
      fit.points.push_back({heads->heads, heads->v_dim, std::sqrt(measured.mean(point) * variance)});
      break;
    }
  }
  if (fit.points.size() < fewest_points) return std::nullopt;
  solve(fit);
  return fit;
}

}  // namespace

std::vector<StudyFit> fit_study(const StudyRun& run) {
  const StudyResults results = run.results();
  std::vector<StudyFit> fits;
  if (results.report.x_key != "model.heads") return fits;
  for (const std::string& series : series_names(results))
    if (auto fit = fit_series(run, results, series)) fits.push_back(std::move(*fit));
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

}  // namespace headroom::experiments
