#include "experiments/studies/analysis/power_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/tensor.h"
#include "experiments/studies/analysis/estimate.h"
#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {
namespace {

using Rows = std::vector<std::vector<double>>;

/// The design: a column of ones, then the keys.
std::vector<double> design(const Rows& log_keys) {
  std::vector<double> x;
  for (const std::vector<double>& row : log_keys) {
    x.push_back(1);
    x.insert(x.end(), row.begin(), row.end());
  }
  return x;
}

/// The weights of each coefficient over the rows, (columns, rows): the pseudoinverse of the design. None where its
/// columns do not differ.
std::optional<Rows> weights(const Rows& log_keys, size_t columns) {
  const auto rows = static_cast<int64_t>(log_keys.size()), count = static_cast<int64_t>(columns);
  const std::vector<double> x = design(log_keys);
  const engine::Tensor tensor = engine::Tensor::from<double>({rows, count}, x);
  const std::vector<double> singular = engine::linalg::singular_values(tensor).to_vector<double>();
  if (!(singular.back() > 1e-9 * singular.front())) return std::nullopt;
  const std::vector<double> inverse = engine::linalg::pinv(tensor).to_vector<double>();
  Rows out(columns);
  for (size_t k = 0; k < columns; ++k)
    out[k].assign(inverse.begin() + static_cast<int64_t>(k) * rows,
                  inverse.begin() + static_cast<int64_t>(k + 1) * rows);
  return out;
}

/// ln x of the vertex of the parabola through three points whose middle one is the lowest; a tie gives the middle.
double vertex(const double (&x)[3], const double (&y)[3]) {
  const double left = (y[1] - y[0]) / (x[1] - x[0]), right = (y[2] - y[1]) / (x[2] - x[1]);
  const double curvature = (right - left) / (x[2] - x[0]);
  if (!(curvature > 0)) return x[1];
  return std::clamp((x[0] + x[1]) / 2 - left / (2 * curvature), x[0], x[2]);
}

/// ln x at which one seed is best; the end where its best x is one.
double best_of_seed(const std::vector<double>& x, const std::vector<double>& loss) {
  const auto best = static_cast<size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
  if (best == 0 || best + 1 == x.size()) return x[best];
  return vertex({x[best - 1], x[best], x[best + 1]}, {loss[best - 1], loss[best], loss[best + 1]});
}

}  // namespace

std::optional<Optimum> optimum(const Curve& curve) {
  if (curve.points.size() < 3) return std::nullopt;
  std::vector<double> x;
  for (const Point& p : curve.points) {
    if (!(p.x > 0)) return std::nullopt;
    x.push_back(std::log(p.x));
  }
  Sample sample;
  std::vector<double> sums(x.size());  // of the loss over seeds
  for (const auto& entry : curve.points.front().values) {
    std::vector<double> loss;
    for (const Point& p : curve.points) {
      const auto found = p.values.find(entry.first);
      if (found == p.values.end()) break;
      if (!(found->second > 0)) return std::nullopt;
      loss.push_back(curve.larger_is_better ? -found->second : std::log(found->second));
    }
    if (loss.size() != x.size()) continue;
    sample.seeds.push_back(best_of_seed(x, loss));
    for (size_t i = 0; i < x.size(); ++i) sums[i] += loss[i];
  }
  if (sample.seeds.size() < 2) return std::nullopt;
  const Estimate estimate = experiments::estimate(sample);
  const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
  const auto [low, high] = estimate.interval(0.9);
  return Optimum{estimate.value, estimate.error() * estimate.error(),   estimate.seeds, std::exp(low),
                 std::exp(high), best == 0 || best + 1 == std::ssize(x)};
}

std::optional<PowerLaw> fit_power_law(const Rows& log_keys, const std::vector<double>& log_y,
                                      const std::vector<double>& variances, double level) {
  require(log_keys.size() == log_y.size() && log_y.size() == variances.size(),
          "fit_power_law: {} rows of keys, {} values, {} variances", log_keys.size(), log_y.size(), variances.size());
  const size_t rows = log_y.size(), columns = rows == 0 ? 0 : log_keys[0].size() + 1;
  if (rows < columns + 2) return std::nullopt;
  const auto w = weights(log_keys, columns);
  if (!w) return std::nullopt;
  std::vector<double> coefficients(columns), leverage(rows);
  for (size_t k = 0; k < columns; ++k)
    for (size_t i = 0; i < rows; ++i) coefficients[k] += (*w)[k][i] * log_y[i];
  PowerLaw law;
  law.degrees = static_cast<int>(rows - columns);
  double squares = 0, expected = 0;  // of the residuals; what the y's own errors make of them
  for (size_t i = 0; i < rows; ++i) {
    double fitted = coefficients[0];
    leverage[i] = (*w)[0][i];
    for (size_t k = 1; k < columns; ++k) {
      fitted += coefficients[k] * log_keys[i][k - 1];
      leverage[i] += log_keys[i][k - 1] * (*w)[k][i];
    }
    const double residual = log_y[i] - fitted;
    law.predicted.push_back(fitted);
    const bool is_determined = leverage[i] < 1 - 1e-9;
    law.left_out.push_back(is_determined ? log_y[i] - residual / (1 - leverage[i])
                                         : std::numeric_limits<double>::quiet_NaN());
    squares += residual * residual;
    expected += (1 - leverage[i]) * variances[i];
  }
  const double between = std::max(0.0, (squares - expected) / law.degrees);
  law.between = std::sqrt(between);
  const double t = t_reach(law.degrees, 1 - level);
  for (size_t k = 0; k < columns; ++k) {
    double variance = 0;
    for (size_t i = 0; i < rows; ++i) variance += (*w)[k][i] * (*w)[k][i] * (variances[i] + between);
    const double half = t * std::sqrt(variance);
    const Exponent exponent{coefficients[k], coefficients[k] - half, coefficients[k] + half};
    if (k == 0) law.intercept = exponent;
    else law.exponents.push_back(exponent);
  }
  return law;
}

double typical_factor(const std::vector<double>& log_y, const std::vector<double>& log_predicted) {
  double squares = 0;
  for (size_t i = 0; i < log_y.size(); ++i) squares += (log_y[i] - log_predicted[i]) * (log_y[i] - log_predicted[i]);
  return std::exp(std::sqrt(squares / static_cast<double>(log_y.size())));
}

}  // namespace headroom::experiments
