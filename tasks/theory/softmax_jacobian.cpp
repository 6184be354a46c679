#include "tasks/theory/softmax_jacobian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// p of all keys but the largest, divided by ε = e^{z_(2) − z_(1)}: v_i = p_i/ε, of order p_(1) at most.
struct Scaled {
  double ln_epsilon = 0, epsilon = 0;
  double largest = 1;     ///< p_(1)
  std::vector<double> v;  ///< of the others, largest first
  double sum = 0;         ///< Σ v_i = (1 − p_(1))/ε
  double entropy = 0;     ///< −ln p_(1) + Σ p_i (z_(1) − z_i)
};

constexpr double rounding = 1e-12;  ///< relative: inequalities that are equalities for some logits

Scaled scale(const std::vector<double>& logits) {
  std::vector<double> z = logits;
  const auto top = std::max_element(z.begin(), z.end());
  std::iter_swap(z.begin(), top);
  Scaled scaled;
  if (z.size() == 1) return scaled;
  std::iter_swap(z.begin() + 1, std::max_element(z.begin() + 1, z.end()));
  scaled.ln_epsilon = z[1] - z[0];
  scaled.epsilon = std::exp(scaled.ln_epsilon);
  double weights = 0;
  for (size_t i = 1; i < z.size(); ++i) weights += std::exp(z[i] - z[1]);
  scaled.largest = 1 / (1 + scaled.epsilon * weights);
  for (size_t i = 1; i < z.size(); ++i) scaled.v.push_back(std::exp(z[i] - z[1]) * scaled.largest);
  scaled.sum = weights * scaled.largest;
  for (size_t i = 1; i < z.size(); ++i) scaled.entropy += scaled.epsilon * scaled.v[i - 1] * (z[0] - z[i]);
  scaled.entropy -= std::log(scaled.largest);
  return scaled;
}

/// μ = λ/ε. With the largest p taken out of the sum the secular equation reads
///   (μ − p₁ V)/(p₁ − εμ) = Σ v_i²/(μ − v_i),   V = Σ v_i,
/// rising on the left and falling on the right of (v_(2), p₁/ε).
double root(const Scaled& s) {
  double low = std::max(s.v[0], s.largest * s.sum);  // the bracket; and the diagonal element p₁(1 − p₁)
  double high = std::min(s.largest / s.epsilon, 2 * s.largest * s.sum);  // Gershgorin
  while (low < high) {
    const double mu = low + (high - low) / 2;
    if (mu <= low || mu >= high) break;  // two neighbouring numbers
    double right = 0;
    for (const double v : s.v) right += v * v / (mu - v);
    ((mu - s.largest * s.sum) / (s.largest - s.epsilon * mu) < right ? low : high) = mu;
  }
  return std::max(low, std::min(high, low + (high - low) / 2));
}

}  // namespace

double ln_softmax_bound(double delta, int64_t keys) {
  require(delta >= 0 && keys >= 1, "softmax bound: Delta {} and keys {} must be >= 0 and >= 1", delta, keys);
  return std::numbers::ln2 + 2 * delta - std::log(static_cast<double>(keys));
}

SoftmaxJacobian softmax_jacobian(const std::vector<double>& logits) {
  require(!logits.empty(), "softmax jacobian: there are no logits");
  for (const double z : logits) require(std::isfinite(z), "softmax jacobian: a logit is {}", z);
  const Scaled scaled = scale(logits);
  const auto n = static_cast<double>(logits.size());
  const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
  SoftmaxJacobian j;
  j.largest = scaled.largest;
  j.entropy = scaled.entropy;
  j.first = std::exp(logits[0] - *high) * scaled.largest;
  j.spread = *high - *low;
  j.delta = std::max(std::abs(*high), std::abs(*low));
  j.ln_paper = ln_softmax_bound(j.delta, static_cast<int64_t>(logits.size()));
  j.ln_sharp = 2 * j.delta - std::log(n);
  j.ln_spread = j.spread - std::log(n);
  j.ln_smallest = *low - *high + std::log(scaled.largest);
  if (scaled.v.empty()) {
    j.ln_norm = -std::numeric_limits<double>::infinity();
    return j;
  }
  j.second = scaled.epsilon * scaled.v[0];
  const double mu = root(scaled);
  j.ln_norm = scaled.ln_epsilon + std::log(mu);
  j.norm = scaled.epsilon * mu;
  j.diagonal = scaled.largest * scaled.epsilon * scaled.sum;
  double others = 0;
  for (const double v : scaled.v) others += scaled.epsilon * v;
  const double all = scaled.largest + others;
  j.row_sum = std::abs(1 - all);
  for (const double v : scaled.v) {
    const double p = scaled.epsilon * v;
    j.diagonal = std::max(j.diagonal, p * (1 - p));
  }
  j.gershgorin = 2 * j.diagonal;
  return j;
}

int broken_inequalities(const SoftmaxJacobian& j, double delta, int64_t keys) {
  const double ln_keys = std::log(static_cast<double>(keys));
  const auto at_most = [](double ln, double ln_bound) {
    return ln <= ln_bound + rounding * std::max(1.0, std::abs(ln_bound));
  };
  int broken = at_most(j.ln_norm, ln_softmax_bound(delta, keys)) ? 0 : 1;
  broken += at_most(j.ln_norm, 2 * delta - ln_keys) ? 0 : 1;
  broken += at_most(j.ln_norm, j.ln_spread) ? 0 : 1;
  broken += j.gershgorin == 0 || at_most(j.ln_norm, std::log(j.gershgorin)) ? 0 : 1;  // 0: below every double
  broken += at_most(j.ln_norm, std::log(0.5)) ? 0 : 1;
  broken += keys == 1 || (j.norm <= j.largest * (1 + rounding) && j.norm >= j.second * (1 - rounding)) ? 0 : 1;
  broken += at_most(std::log(j.largest), 2 * delta - ln_keys) ? 0 : 1;
  broken += at_most(-2 * delta - ln_keys, j.ln_smallest) ? 0 : 1;
  broken += j.row_sum <= rounding ? 0 : 1;
  return broken;
}

}  // namespace headroom::tasks
