#pragma once
#include <cstdint>
#include <vector>

#include "tasks/theory/exponential_sum.h"

namespace headroom::tasks {

/// What a group of heads delivers from a lag: f(s) = Σ_h α_h x_h^s against [s = lag].
struct Fetch {
  int64_t lag = 0;
  ExponentialSum sum;        ///< α in `amplitudes`; heads beyond the useful ones have α = 0
  double leak = 0;           ///< f(0), when the residual stream takes it away again
  bool interpolates = true;  ///< f is exact at s < m (residual: 1 <= s <= m), m the heads with α ≠ 0
};

/// Interpolation at Chebyshev nodes of scale `scale` (THEORY: the closed form of interpolate()); all α are 0 and l1 = 1
/// where heads <= lag, for nothing is better then.
Fetch chebyshev_fetch(int64_t lag, int64_t heads, double scale);

/// The same on s = 1 … heads, so that heads = lag is enough; l1 is over s >= 1, and f(0) = (−1)^{lag−1}
/// e_{heads−lag}(x)/e_heads(x) is what the residual must take away.
Fetch residual_fetch(int64_t lag, int64_t heads, double scale);

/// best_float_fit(): as many of the heads, and the scale, that are best at unit roundoff `epsilon`.
Fetch float_fetch(int64_t lag, int64_t heads, double epsilon);

/// The rates that the constant e^{0.02T} of Lemma E.1 implies, β_k = 0.01 k: f(s) = e^{−as} Q(e^{−as}), a = 0.01, with
/// Q the interpolant that bump_construction_error() describes.
Fetch slow_fetch(int64_t lag, int64_t heads);

/// The scale c of Chebyshev nodes that makes Σ_lags (l1 + ε·gain) least, for `heads` heads that serve all of `lags`
/// (residual: fits on s >= 1). Lags that these heads cannot fetch do not count; 0.5 when there are no others.
double best_scale(const std::vector<int64_t>& lags, int64_t heads, double epsilon, bool residual);

/// f(0) … f(count − 1) as the layer delivers it in exact arithmetic: f(0) without the leak. Interpolating fits are
/// computed without cancellation: f(s) = (−1)^b s_(s−m+1, 1^b)(x) for s >= m with b = m − 1 − lag, a Schur function of
/// a hook, which is a sum of positive terms.
std::vector<double> fetched_weights(const Fetch& fetch, int64_t count);

/// Number of weights beyond which Σ |f(s)| is below 1e-13 of what it was before.
int64_t weights_that_matter(const Fetch& fetch);

}  // namespace headroom::tasks
