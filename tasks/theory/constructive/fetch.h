#pragma once
#include <cstdint>
#include <vector>

#include "tasks/theory/exponential_sum.h"

namespace headroom::tasks {

/// The weights a group of heads gives to the past to fetch a lag: f(s) = Σ_h α_h x_h^s, to match [s = lag].
struct Fetch {
  int64_t lag = 0;
  ExponentialSum sum;        ///< α in `amplitudes`; superfluous heads have α = 0
  double leak = 0;           ///< f(0), if the residual stream cancels it
  bool interpolates = true;  ///< f is exact at s < m (residual: 1 <= s <= m), m the heads with α ≠ 0
};

/// Interpolates at Chebyshev nodes of scale `scale` (THEORY: the closed form of interpolate()). If heads <= lag nothing
/// beats zero: all α are 0 and l1 = 1.
Fetch chebyshev_fetch(int64_t lag, int64_t heads, double scale);

/// The same on s = 1 … heads, so that heads = lag suffices; l1 covers s >= 1, and the residual must cancel f(0) =
/// (−1)^{lag−1} e_{heads−lag}(x)/e_heads(x).
Fetch residual_fetch(int64_t lag, int64_t heads, double scale);

/// best_float_fit(): the best number of heads and scale at unit roundoff `epsilon`.
Fetch float_fetch(int64_t lag, int64_t heads, double epsilon);

/// Uses the rates that Lemma E.1's constant e^{0.02T} implies, β_k = 0.01 k: f(s) = e^{−as} Q(e^{−as}), a = 0.01, with
/// Q the interpolant of bump_construction_error().
Fetch slow_fetch(int64_t lag, int64_t heads);

/// The scale c of Chebyshev nodes that minimises Σ_lags (l1 + ε·gain) for `heads` heads that serve all of `lags`
/// (residual: fits on s >= 1). Skips lags that these heads cannot fetch; 0.5 if there are no others.
double best_scale(const std::vector<int64_t>& lags, int64_t heads, double epsilon, bool residual);

/// f(0) … f(count − 1) as the layer delivers it in exact arithmetic: f(0) without the leak. Interpolating fits are
/// computed without cancellation: f(s) = (−1)^b s_(s−m+1, 1^b)(x) for s >= m with b = m − 1 − lag, a hook's Schur
/// function, which is a sum of positive terms.
std::vector<double> fetched_weights(const Fetch& fetch, int64_t count);

/// The number of weights after which Σ |f(s)| is below 1e-13 of the sum before.
int64_t weights_that_matter(const Fetch& fetch);

}  // namespace headroom::tasks
