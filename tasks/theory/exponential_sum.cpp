#include "tasks/theory/exponential_sum.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

void check_counts(int64_t lag, int64_t terms) {
  require(lag >= 1 && terms >= 1, "exponential sum: lag {} and terms {} must be >= 1", lag, terms);
}

void check_nodes(const std::vector<double>& nodes) {
  for (const double x : nodes) require(x > 0 && x < 1, "exponential sum: a node is {}: expected e^-rate in (0, 1)", x);
}

/// S_r = Σ_{j>=r} (−1)^{j−r} e_j: one node more gives S_r + x S_{r−1}, all of it positive.
double alternating_tail(const std::vector<double>& nodes, size_t r) {
  std::vector<double> tail(r + 1, 0.0);
  tail[0] = 1;  // S_0 = Π (1 − x_k)
  for (const double x : nodes) {
    for (size_t j = r; j > 0; --j) tail[j] += x * tail[j - 1];
    tail[0] *= 1 - x;
  }
  return tail[r];
}

double bump(double x) { return std::abs(x) < 1 ? std::exp(-1 / (1 - x * x)) : 0; }

constexpr int64_t most_nodes = 32;  ///< of a float fit: more of them only add to the gain
constexpr double smallest_scale = 1e-9, largest_scale = 0.999;

}  // namespace

std::vector<double> elementary_symmetric(const std::vector<double>& nodes, std::optional<size_t> without) {
  std::vector<double> e{1};
  for (size_t k = 0; k < nodes.size(); ++k) {
    if (k == without) continue;
    e.push_back(0);
    for (size_t j = e.size() - 1; j > 0; --j) e[j] += nodes[k] * e[j - 1];
  }
  return e;
}

std::vector<double> certificate(const std::vector<double>& nodes, int64_t lag) {
  check_counts(lag, static_cast<int64_t>(nodes.size()));
  check_nodes(nodes);
  require(static_cast<int64_t>(nodes.size()) <= lag,
          "certificate: {} nodes at lag {}: expected at most as many as the lag", nodes.size(), lag);
  const std::vector<double> e = elementary_symmetric(nodes);  // p_{m−j} = (−1)^j e_j
  const auto j = static_cast<size_t>(std::max_element(e.begin(), e.end()) - e.begin());
  const size_t start = static_cast<size_t>(lag) - (nodes.size() - j);  // of p_0
  std::vector<double> y(start + nodes.size() + 1, 0.0);
  for (size_t i = 0; i <= nodes.size(); ++i) y[start + nodes.size() - i] = ((i + j) % 2 == 0 ? 1 : -1) * e[i] / e[j];
  return y;
}

ExponentialSum interpolate(const std::vector<double>& nodes, int64_t lag) {
  require(lag >= 0, "interpolate: lag {} must be >= 0", lag);
  check_nodes(nodes);
  const size_t m = nodes.size();
  require(static_cast<int64_t>(m) > lag, "interpolate: {} nodes at lag {}: expected more than the lag", m, lag);
  ExponentialSum sum{.nodes = nodes, .amplitudes = std::vector<double>(m), .l1 = 0};
  const size_t degree = m - 1 - static_cast<size_t>(lag);
  double product = 1;
  std::vector<double> logs;  // of |amplitude_k| / (1 − x_k)
  for (size_t k = 0; k < m; ++k) {
    // The coefficient of x^T in the Lagrange polynomial of node k.
    double amplitude = (degree % 2 == 0 ? 1 : -1) * elementary_symmetric(nodes, k)[degree];
    logs.push_back(std::log(std::abs(amplitude)) - std::log1p(-nodes[k]));
    for (size_t j = 0; j < m; ++j) {
      if (j == k) continue;
      require(nodes[j] != nodes[k], "interpolate: the node {} is there twice", nodes[k]);
      amplitude /= nodes[k] - nodes[j];
      logs.back() -= std::log(std::abs(nodes[k] - nodes[j]));
    }
    sum.amplitudes[k] = amplitude;
    sum.gain += std::abs(amplitude) / (1 - nodes[k]);
    product *= 1 - nodes[k];
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double rest = 0;
  for (const double value : logs) rest += std::exp(value - largest);
  sum.ln_gain = largest + std::log(rest);
  sum.l1 = alternating_tail(nodes, m - static_cast<size_t>(lag)) / product;
  return sum;
}

std::vector<double> chebyshev_nodes(double c, int64_t terms) {
  require(c > 0 && c < 1 && terms >= 1, "chebyshev nodes: scale {} must be in (0, 1), terms {} >= 1", c, terms);
  std::vector<double> nodes(static_cast<size_t>(terms));
  const auto m = static_cast<double>(terms);
  // (1 + cos 2θ)/2 = cos² θ, right to the last digit also where it is small.
  for (size_t k = 0; k < nodes.size(); ++k)
    nodes[k] = c * std::pow(std::cos(std::numbers::pi * (static_cast<double>(k) + 0.5) / (2 * m)), 2);
  return nodes;
}

std::vector<double> linear_rates(double step, int64_t terms) {
  require(step > 0 && std::isfinite(step) && terms >= 1, "linear rates: step {} must be > 0, terms {} >= 1", step,
          terms);
  std::vector<double> nodes(static_cast<size_t>(terms));
  for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = std::exp(-step * static_cast<double>(k + 1));
  return nodes;
}

std::vector<double> geometric_rates(double low, double high, int64_t terms) {
  require(low > 0 && high > low && std::isfinite(high) && terms >= 2,
          "geometric rates: expected 0 < low < high and terms >= 2, got {}, {} and {}", low, high, terms);
  std::vector<double> nodes(static_cast<size_t>(terms));
  for (size_t k = 0; k < nodes.size(); ++k)
    nodes[k] = std::exp(-low * std::pow(high / low, static_cast<double>(k) / static_cast<double>(terms - 1)));
  return nodes;
}

double bump_construction_error(double rate, int64_t lag, int64_t terms) {
  check_counts(lag, terms);
  require(rate > 0 && std::isfinite(rate), "bump construction: rate {} must be > 0", rate);
  const double mu = std::exp(-rate * static_cast<double>(lag));
  const double sigma = mu - std::exp(-rate * static_cast<double>(lag + 1));
  const std::vector<double> nodes = [&] {  // Chebyshev points of the first kind on [0, 1]
    std::vector<double> points(static_cast<size_t>(terms));
    for (size_t k = 0; k < points.size(); ++k)
      points[k] = (1 + std::cos(std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(terms))) / 2;
    return points;
  }();
  std::vector<double> values(nodes.size()), weights(nodes.size());
  for (size_t k = 0; k < nodes.size(); ++k) {
    values[k] = std::numbers::e / mu * bump((nodes[k] - mu) / sigma);
    weights[k] = (k % 2 == 0 ? 1 : -1) *
                 std::sin(std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(terms));
  }
  const auto polynomial = [&](double x) {  // barycentric
    double above = 0, below = 0;
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (x == nodes[k]) return values[k];
      above += weights[k] / (x - nodes[k]) * values[k];
      below += weights[k] / (x - nodes[k]);
    }
    return above / below;
  };
  double error = 0;
  for (int64_t t = 0; rate * static_cast<double>(t) < 50; ++t) {  // e^{−50} is below rounding
    const double x = std::exp(-rate * static_cast<double>(t));
    error += std::abs((t == lag ? 1 : 0) - x * polynomial(x));
  }
  return error;
}

FloatFit best_float_fit(int64_t lag, int64_t heads, double epsilon) {
  check_counts(lag, heads);
  require(epsilon > 0 && epsilon < 1, "float fit: unit roundoff {} must be in (0, 1)", epsilon);
  FloatFit best;
  for (int64_t m = lag + 1; m <= std::min(heads, most_nodes); ++m) {
    const auto fit = [&](double log_scale) { return interpolate(chebyshev_nodes(std::exp(log_scale), m), lag); };
    const auto estimate = [&](double log_scale) {
      const ExponentialSum sum = fit(log_scale);
      return std::log(sum.l1 + epsilon * sum.gain);
    };
    // l1 rises and the gain falls in c: one valley on logarithmic axes.
    const auto [at, value] =
        boost::math::tools::brent_find_minima(estimate, std::log(smallest_scale), std::log(largest_scale), 30);
    if (std::exp(value) < best.estimate) best = {std::exp(value), std::exp(at), fit(at)};
  }
  return best;
}

}  // namespace headroom::tasks
