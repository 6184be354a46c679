#include "tasks/theory/constructive/fetch.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// Heads that fetch nothing: zero is the best that they can do.
Fetch nothing(int64_t lag, std::vector<double> nodes) {
  const size_t heads = nodes.size();
  return {.lag = lag, .sum = {.nodes = std::move(nodes), .amplitudes = std::vector<double>(heads, 0.0)}};
}

/// s_(n, 1^leg)(x) for n = 1 … count. A node more adds a horizontal strip to a hook: to the arm as often as it likes
/// (the recursion over n), to the leg once.
std::vector<double> hooks(const std::vector<double>& nodes, size_t leg, size_t count) {
  // arms[b][n] = s_(n, 1^b); n = 0 is the empty shape, which only b = 0 has.
  std::vector<std::vector<double>> arms(leg + 1, std::vector<double>(count + 1, 0.0));
  arms[0][0] = 1;
  for (const double x : nodes)
    for (size_t b = leg + 1; b-- > 0;)
      for (size_t n = 1; n <= count; ++n) arms[b][n] += x * ((b > 0 ? arms[b - 1][n] : 0.0) + arms[b][n - 1]);
  return {arms[leg].begin() + 1, arms[leg].end()};
}

/// The nodes whose amplitude is not 0.
std::vector<double> used_nodes(const ExponentialSum& sum) {
  std::vector<double> used;
  for (size_t k = 0; k < sum.nodes.size(); ++k)
    if (sum.amplitudes[k] != 0) used.push_back(sum.nodes[k]);
  return used;
}

double gain_of(const ExponentialSum& sum) {
  double gain = 0;
  for (size_t k = 0; k < sum.nodes.size(); ++k) gain += std::abs(sum.amplitudes[k]) / (1 - sum.nodes[k]);
  return gain;
}

double direct(const ExponentialSum& sum, int64_t s) {
  long double value = 0;
  for (size_t k = 0; k < sum.nodes.size(); ++k)
    value += sum.amplitudes[k] * std::pow(static_cast<long double>(sum.nodes[k]), static_cast<long double>(s));
  return static_cast<double>(value);
}

constexpr double slow_rate = 0.01;         // e^{0.02T} = e^{0.01(q+1)T} with q = 1
constexpr double negligible_norm = 1e-13;  // of an ℓ1 norm
constexpr int64_t most_weights = 1 << 20;

}  // namespace

Fetch chebyshev_fetch(int64_t lag, int64_t heads, double scale) {
  std::vector<double> nodes = chebyshev_nodes(scale, heads);
  if (heads <= lag) return nothing(lag, std::move(nodes));
  return {.lag = lag, .sum = interpolate(nodes, lag)};
}

Fetch residual_fetch(int64_t lag, int64_t heads, double scale) {
  std::vector<double> nodes = chebyshev_nodes(scale, heads);
  if (heads < lag) return nothing(lag, std::move(nodes));
  // f(s) = Σ (α x) x^{s−1} is [s − 1 = lag − 1] for s − 1 = 0 … heads − 1.
  Fetch fetch{.lag = lag, .sum = interpolate(nodes, lag - 1)};
  for (size_t k = 0; k < nodes.size(); ++k) fetch.sum.amplitudes[k] /= nodes[k];
  fetch.sum.gain = gain_of(fetch.sum);
  const std::vector<double> e = elementary_symmetric(nodes);
  fetch.leak = (lag % 2 == 1 ? 1 : -1) * e[static_cast<size_t>(heads - lag)] / e.back();
  return fetch;
}

Fetch float_fetch(int64_t lag, int64_t heads, double epsilon) {
  const FloatFit fit = best_float_fit(lag, heads, epsilon);
  if (fit.sum.nodes.empty()) return nothing(lag, chebyshev_nodes(0.5, heads));
  Fetch fetch{.lag = lag, .sum = fit.sum};
  const auto all = static_cast<size_t>(heads);
  fetch.sum.amplitudes.resize(all, 0.0);
  fetch.sum.nodes.resize(all, fetch.sum.nodes.front());
  return fetch;
}

Fetch slow_fetch(int64_t lag, int64_t heads) {
  require(lag >= 1 && heads >= 1, "slow fetch: lag {} and heads {} must be >= 1", lag, heads);
  const double mu = std::exp(-slow_rate * static_cast<double>(lag));
  const double sigma = mu - std::exp(-slow_rate * static_cast<double>(lag + 1));
  const auto m = static_cast<size_t>(heads);
  std::vector<long double> points(m);
  for (size_t k = 0; k < m; ++k)
    points[k] = (1 + std::cos(std::numbers::pi_v<long double> * (static_cast<long double>(k) + 0.5L) /
                              static_cast<long double>(m))) /
                2;
  // Q = Σ_k Q(z_k) ℓ_k; its coefficient of z^j is the amplitude of e^{−a(j+1)s}.
  std::vector<long double> coefficients(m, 0);
  for (size_t k = 0; k < m; ++k) {
    const auto u = static_cast<double>((points[k] - mu) / sigma);
    if (std::abs(u) >= 1) continue;
    const double value = std::numbers::e / mu * std::exp(-1 / (1 - u * u));
    std::vector<long double> lagrange{1};
    for (size_t j = 0; j < m; ++j) {
      if (j == k) continue;
      const long double width = points[k] - points[j];
      lagrange.push_back(0);
      for (size_t i = lagrange.size() - 1; i > 0; --i)
        lagrange[i] = (lagrange[i - 1] - points[j] * lagrange[i]) / width;
      lagrange[0] *= -points[j] / width;
    }
    for (size_t j = 0; j < m; ++j) coefficients[j] += value * lagrange[j];
  }
  Fetch fetch{.lag = lag, .sum = {}, .interpolates = false};
  for (size_t j = 0; j < m; ++j) {
    fetch.sum.nodes.push_back(std::exp(-slow_rate * static_cast<double>(j + 1)));
    fetch.sum.amplitudes.push_back(static_cast<double>(coefficients[j]));
  }
  fetch.sum.gain = gain_of(fetch.sum);
  fetch.sum.l1 = 0;
  for (int64_t s = 0; s < weights_that_matter(fetch); ++s)
    fetch.sum.l1 += std::abs((s == lag ? 1 : 0) - direct(fetch.sum, s));
  return fetch;
}

double best_scale(const std::vector<int64_t>& lags, int64_t heads, double epsilon, bool residual) {
  const auto error = [&](double log_scale) {
    double sum = 0;
    for (const int64_t lag : lags) {
      const Fetch fetch =
          residual ? residual_fetch(lag, heads, std::exp(log_scale)) : chebyshev_fetch(lag, heads, std::exp(log_scale));
      if (fetch.sum.gain > 0) sum += fetch.sum.l1 + epsilon * fetch.sum.gain;
    }
    return std::log(sum);
  };
  const bool any = std::any_of(lags.begin(), lags.end(), [&](int64_t lag) { return lag < heads + (residual ? 1 : 0); });
  if (!any) return 0.5;
  // ℓ1 rises with the scale and the gain falls: one valley on logarithmic axes.
  return std::exp(boost::math::tools::brent_find_minima(error, std::log(1e-9), std::log(0.999), 30).first);
}

int64_t weights_that_matter(const Fetch& fetch) {
  const std::vector<double> used = used_nodes(fetch.sum);
  if (used.empty()) return fetch.lag + 1;
  const double slowest = *std::max_element(used.begin(), used.end());
  const auto most = static_cast<int64_t>(
      std::min<double>(most_weights, std::ceil(std::log(negligible_norm * (1 - slowest)) / std::log(slowest)) +
                                         4.0 * static_cast<double>(used.size())));
  return std::max(fetch.lag + 1, most);
}

std::vector<double> fetched_weights(const Fetch& fetch, int64_t count) {
  std::vector<double> weights(static_cast<size_t>(count), 0.0);
  const std::vector<double> used = used_nodes(fetch.sum);
  if (used.empty()) return weights;
  if (!fetch.interpolates) {
    for (int64_t s = 0; s < count; ++s) weights[static_cast<size_t>(s)] = direct(fetch.sum, s);
    return weights;
  }
  const int64_t shift = fetch.leak != 0 ? 1 : 0, first = static_cast<int64_t>(used.size()) + shift;
  if (fetch.lag < count) weights[static_cast<size_t>(fetch.lag)] = 1;
  if (count <= first) return weights;
  const auto leg = static_cast<size_t>(first - 1 - fetch.lag);
  const std::vector<double> tail = hooks(used, leg, static_cast<size_t>(count - first));
  for (size_t n = 0; n < tail.size(); ++n) weights[static_cast<size_t>(first) + n] = (leg % 2 == 0 ? 1 : -1) * tail[n];
  return weights;
}

}  // namespace headroom::tasks
