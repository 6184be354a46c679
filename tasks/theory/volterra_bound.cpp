#include "tasks/theory/volterra_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {
namespace {

constexpr size_t most_distinct_lags = 12;

/// The smallest Σ linear_i/H_i + Σ_{i<=j} cross_ij/(H_i H_j) over integers H_i >= 1 with Σ H_i = heads.
class HeadSplit {
 public:
  HeadSplit(std::vector<double> linear, std::vector<std::vector<double>> cross)
      : linear_(std::move(linear)), cross_(std::move(cross)), inverse_(linear_.size()) {}

  /// Nothing above `worst` is looked for: it is then given back.
  double minimum(int64_t heads, double worst) {
    best_ = worst;
    descend(0, heads, 0);
    return best_;
  }

 private:
  /// `cost`: of the lags before i among themselves.
  void descend(size_t i, int64_t left, double cost) {
    const size_t lags = linear_.size();
    if (i == lags) {
      best_ = std::min(best_, cost);
      return;
    }
    if (cost + floor_of(i, static_cast<double>(left)) >= best_) return;
    const auto others = static_cast<int64_t>(lags - i - 1);
    // The even split first: a good incumbent prunes the rest.
    const int64_t most = left - others, least = others == 0 ? most : 1;
    const int64_t even = std::clamp(left / (others + 1), least, most);
    for (int64_t distance = 0; distance <= std::max(even - least, most - even); ++distance) {
      for (const int64_t h : {even + distance, even - distance}) {
        if (h < least || h > most || (distance == 0 && h != even)) continue;
        inverse_[i] = 1 / static_cast<double>(h);
        descend(i + 1, left - h, cost + (slope(i, i) + cross_[i][i] * inverse_[i]) * inverse_[i]);
        if (distance == 0) break;
      }
    }
  }

  /// Factor of 1/H_k when the lags before `fixed` have their heads.
  double slope(size_t k, size_t fixed) const {
    double sum = linear_[k];
    for (size_t j = 0; j < fixed; ++j) sum += cross_[j][k] * inverse_[j];
    return sum;
  }

  /// No split of `left` heads over the lags from `i` on costs less: min Σ a_k/H_k = (Σ √a_k)²/left for real H, and
  /// H_j H_k <= (left/2)² for any two of them.
  double floor_of(size_t i, double left) const {
    double roots = 0, products = 0;
    for (size_t k = i; k < linear_.size(); ++k) {
      roots += std::sqrt(slope(k, i));
      products += cross_[k][k] / 4;
      for (size_t j = i; j < k; ++j) products += cross_[j][k];
    }
    return roots * roots / left + 4 * products / (left * left);
  }

  std::vector<double> linear_;
  std::vector<std::vector<double>> cross_;  // [j][k] for j <= k
  std::vector<double> inverse_;             // 1/H of the lags that have theirs
  double best_ = 0;
};

void check(const VolterraBoundConfig& config, int64_t heads, int64_t head_dim) {
  require(!config.terms.empty(), "volterra bound: there are no terms");
  for (const VolterraTerm& term : config.terms)
    require(term.first >= 0 && term.second >= 0 && std::isfinite(term.weight),
            "volterra bound: lags {}, {} must be >= 0 and the weight {} finite", term.first, term.second, term.weight);
  require(heads >= 1 && head_dim >= 1 && config.token_dim >= 1,
          "volterra bound: heads {}, head dim {} and token dim {} must be >= 1", heads, head_dim, config.token_dim);
  require(
      config.bound > 0 && std::isfinite(config.bound) && config.product_norm >= 0 && std::isfinite(config.product_norm),
      "volterra bound: B = {} must be > 0, product norm {} >= 0, and both finite", config.bound, config.product_norm);
}

/// The distinct lags, in order, without that of the current token.
std::vector<int64_t> lags_of(const std::vector<VolterraTerm>& terms) {
  std::vector<int64_t> lags;
  for (const VolterraTerm& term : terms)
    for (const int64_t lag : {term.first, term.second})
      if (lag > 0) lags.push_back(lag);
  std::sort(lags.begin(), lags.end());
  lags.erase(std::unique(lags.begin(), lags.end()), lags.end());
  return lags;
}

/// The bound when exactly `kept` is fetched, by at least one head each; `worst` where it is not below that.
double bound_of(const VolterraBoundConfig& config, double gamma, const std::vector<int64_t>& kept, int64_t heads,
                double worst) {
  const size_t none = kept.size();
  const double b = config.bound;
  std::vector<double> linear(none, 0.0), eta(none + 1, 0.0);  // η_i = eta_i / H_i; the last is the current token's
  for (size_t i = 0; i < none; ++i) eta[i] = b * extraction_error(kept[i], 1);
  std::vector<std::vector<double>> cross(none, linear);
  const auto index = [&](int64_t lag) {
    return static_cast<size_t>(std::find(kept.begin(), kept.end(), lag) - kept.begin());
  };
  double fixed = 0;
  for (const VolterraTerm& term : config.terms) {
    const double h = std::abs(term.weight);
    const auto [low, high] = std::minmax({term.first, term.second});
    const size_t i = index(low), j = index(high);
    if ((low > 0 && i == none) || (high > 0 && j == none)) {
      fixed += h * config.product_norm;
      continue;
    }
    fixed += h * b * b * gamma * ((i < none ? 1 : 0) + (j < none ? 1 : 0));
    if (i < none) linear[i] += h * b * eta[i];
    if (j < none) linear[j] += h * b * eta[j];
    if (i < none && j < none) cross[i][j] += h * eta[i] * eta[j];
  }
  if (none == 0 || fixed >= worst) return std::min(fixed, worst);
  return fixed + HeadSplit(std::move(linear), std::move(cross)).minimum(heads, worst - fixed);
}

}  // namespace

double volterra_bound(const VolterraBoundConfig& config, int64_t heads, int64_t head_dim) {
  check(config, heads, head_dim);
  const std::vector<int64_t> lags = lags_of(config.terms);
  require(lags.size() <= most_distinct_lags, "volterra bound: {} distinct lags, expected at most {}", lags.size(),
          most_distinct_lags);
  const double gamma = projection_error(head_dim, config.token_dim);
  double best = std::numeric_limits<double>::infinity();
  for (size_t chosen = 0; chosen < size_t{1} << lags.size(); ++chosen) {
    std::vector<int64_t> kept;
    for (size_t i = 0; i < lags.size(); ++i)
      if (chosen >> i & 1) kept.push_back(lags[i]);
    if (static_cast<int64_t>(kept.size()) <= heads) best = bound_of(config, gamma, kept, heads, best);
  }
  return best;
}

}  // namespace headroom::tasks
