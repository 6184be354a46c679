#include "tasks/theory/exponential_fit.h"

#include <ClpSimplex.hpp>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

constexpr double negligible = 1e-11;
constexpr size_t longest = 20000;

using Rows = std::vector<std::vector<double>>;

/// Filters u by (z − x)/(1 − x z) in powers of z: y_t = x y_{t−1} + u_{t−1} − x u_t.
void all_pass(std::vector<double>& u, double x) {
  double before = 0, output = 0;
  for (double& value : u) {
    output = x * output + before - x * value;
    before = value;
    value = output;
  }
}

}  // namespace

L1Dual l1_dual(const std::vector<std::vector<double>>& rows, const std::vector<double>& slack, size_t lag) {
  const auto columns = static_cast<int>(rows[0].size()), count = static_cast<int>(rows.size());
  std::vector<double> elements, low(rows[0].size(), -1.0), high(rows[0].size(), 1.0), objective(rows[0].size(), 0.0);
  std::vector<int> index;
  std::vector<CoinBigIndex> starts{0};
  for (size_t t = 0; t < rows[0].size(); ++t) {
    for (size_t k = 0; k < rows.size(); ++k) {
      if (rows[k][t] == 0) continue;
      elements.push_back(rows[k][t]);
      index.push_back(static_cast<int>(k));
    }
    starts.push_back(static_cast<CoinBigIndex>(elements.size()));
  }
  objective[lag] = -1;
  std::vector<double> row_low;
  for (const double s : slack) row_low.push_back(-s);
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.setPrimalTolerance(1e-10);
  simplex.setDualTolerance(1e-10);
  simplex.loadProblem(columns, count, starts.data(), index.data(), elements.data(), low.data(), high.data(),
                      objective.data(), row_low.data(), slack.data());
  simplex.scaling(0);
  simplex.setPerturbation(100);  // off: a perturbed optimum was found that was 0.03 from the true one
  simplex.dual();
  simplex.primal(1);  // what the dual method's tolerance left
  require(simplex.status() == 0, "exponential fit: the linear program of {} rows and {} columns ended with status {}",
          count, columns, simplex.status());
  const double* y = simplex.primalColumnSolution();
  const double* pi = simplex.dualRowSolution();
  return {{y, y + columns}, {pi, pi + count}};
}

std::vector<std::vector<double>> orthonormal_exponentials(const std::vector<double>& nodes) {
  require(!nodes.empty(), "exponential fit: there are no nodes");
  double slowest = 0, delay = 0;
  for (const double x : nodes) {
    require(x > 0 && x < 1, "exponential fit: a node is {}: expected e^-rate in (0, 1)", x);
    require(std::count(nodes.begin(), nodes.end(), x) == 1, "exponential fit: the node {} is there twice", x);
    slowest = std::max(slowest, x);
    delay += (1 + x) / (1 - x);  // of the all-pass filter at frequency 0, where it is largest
  }
  const double wanted = delay + std::log(negligible * (1 - slowest)) / std::log(slowest);
  require(wanted < static_cast<double>(longest),
          "exponential fit: the node {} asks for {:.0f} steps, expected at most {}", slowest, wanted, longest);
  const auto horizon = static_cast<size_t>(wanted) + 1;
  Rows basis;
  std::vector<double> passed(horizon, 0.0);
  passed[0] = 1;
  for (const double x : nodes) {
    std::vector<double> next = passed;
    double output = 0;
    for (double& value : next) value = output = x * output + value * std::sqrt((1 - x) * (1 + x));
    basis.push_back(std::move(next));
    all_pass(passed, x);
  }
  return basis;
}

RateFit best_fit(const std::vector<double>& nodes, int64_t lag) {
  require(lag >= 1, "exponential fit: lag {} must be >= 1", lag);
  Rows basis = orthonormal_exponentials(nodes);
  const auto at = static_cast<size_t>(lag);
  for (std::vector<double>& row : basis) row.resize(std::max(row.size(), at + 1), 0.0);
  const L1Dual dual = l1_dual(basis, std::vector<double>(basis.size(), 0.0), at);
  RateFit fit{.l1 = 0, .least = 0, .horizon = static_cast<int64_t>(basis[0].size())};
  double infeasible = 0;
  std::vector<double> residual(basis[0].size(), 0.0);
  residual[at] = 1;
  for (size_t k = 0; k < basis.size(); ++k) {
    double sum = 0;
    for (size_t t = 0; t < residual.size(); ++t) {
      sum += dual.y[t] * basis[k][t];
      residual[t] += dual.multipliers[k] * basis[k][t];
    }
    infeasible += sum * sum;
  }
  for (const double value : residual) fit.l1 += std::abs(value);
  // Any f that beats zero has ‖f‖₂ <= ‖f‖₁ <= 2.
  fit.least = std::max(0.0, dual.y[at] - 2 * std::sqrt(infeasible));
  return fit;
}

FloatLimit float_limit(int64_t lag, double epsilon, int64_t rates) {
  require(lag >= 1 && rates >= 1, "float limit: lag {} and rates {} must be >= 1", lag, rates);
  require(epsilon > 0 && epsilon < 1, "float limit: unit roundoff {} must be in (0, 1)", epsilon);
  constexpr double largest = 0.98;
  const auto at = static_cast<size_t>(lag);
  const size_t horizon = at + static_cast<size_t>(std::log(negligible) / std::log(largest));
  Rows rows;
  std::vector<double> slack, nodes;
  for (int64_t k = 0; k < rates; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + 0.5) / (2 * static_cast<double>(rates));
    const double x = largest * std::pow(std::cos(angle), 2);
    nodes.push_back(x);
    std::vector<double> row(horizon);
    double power = 1;
    for (double& value : row) {
      value = power > 1e-30 ? power : 0;
      power *= x;
    }
    slack.push_back(epsilon / (1 - x));
    rows.push_back(std::move(row));
  }
  const L1Dual dual = l1_dual(rows, slack, at);
  FloatLimit limit{.estimate = 0, .least = 0, .l1 = 0, .gain = 0, .terms = 0};
  std::vector<double> residual(horizon, 0.0);
  residual[at] = 1;
  double violation = 1;  // by how much y is to shrink to meet every constraint
  for (size_t k = 0; k < rows.size(); ++k) {
    double sum = 0;
    for (size_t t = 0; t < horizon; ++t) {
      sum += dual.y[t] * rows[k][t];
      residual[t] += dual.multipliers[k] * rows[k][t];
    }
    violation = std::max(violation, std::abs(sum) / slack[k]);
    limit.gain += std::abs(dual.multipliers[k]) / (1 - nodes[k]);
    limit.terms += dual.multipliers[k] != 0 ? 1 : 0;
  }
  for (const double value : residual) limit.l1 += std::abs(value);
  limit.estimate = limit.l1 + epsilon * limit.gain;
  limit.least = dual.y[at] / violation;
  return limit;
}

}  // namespace headroom::tasks
