#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::tasks {

/// The functions a group of attention heads can fetch: f(t) = Σ_k amplitudes_k nodes_k^t over t = 0, 1, 2, …, with
/// nodes e^{−β} in (0, 1). Lemma E.1 of the paper claims that m of them reach δ_T to 1.3 e^{0.02T}/m in ℓ1. It is
/// false; this file has the law that replaces it, with a proof of each half.
struct ExponentialSum {
  std::vector<double> nodes, amplitudes;
  double l1 = 1;  ///< Σ_t |[t = T] − f(t)|
  /// Σ_k |amplitude_k| / (1 − node_k): size of the value weights; a forward pass errs by about ε·gain.
  double gain = 0;
  double ln_gain = 0;  ///< its logarithm, correct even if the gain overflows a double
};

/// Elementary symmetric polynomials e_0 … e_m of the nodes, optionally leaving one out.
std::vector<double> elementary_symmetric(const std::vector<double>& nodes, std::optional<size_t> without = {});

/// Proves the law's first half, that the best ℓ1 error of δ_T by at most T exponentials is 1: y with |y_t| <= 1, y_T =
/// 1 and Σ_t y_t x_k^t = 0 for every node x_k, so that Σ_t |δ_T(t) − f(t)| >= y_T = 1 for any amplitudes. y_t =
/// p_{t−T+J} / p_J from the coefficients of Π (z − x_k), p_J the largest. From t = 0 on. Throws Error unless the nodes
/// are in (0, 1) and at most `lag` of them.
std::vector<double> certificate(const std::vector<double>& nodes, int64_t lag);

/// The law's second half, that T + 1 come as near to 0 as wanted: the sum that equals [t = lag] for t = 0 … m − 1, with
/// m > lag distinct nodes. Amplitudes, l1 and gain in closed form without cancellation: all later f(t) have one sign,
/// and
///   l1 = S_{m−T}(x) / Π (1 − x_k),   S_r = Σ_{j>=r} (−1)^{j−r} e_j(x),   e_j elementary symmetric,
/// which is Π 1/(1 − x_k) − 1 at m = T + 1, and falls to 0 as all nodes do. Throws Error unless lag >= 0 and the nodes
/// are distinct, in (0, 1), and more than `lag`.
ExponentialSum interpolate(const std::vector<double>& nodes, int64_t lag);

/// c (1 + cos(π (k + 1/2)/m)) / 2, k = 0 … m − 1.
std::vector<double> chebyshev_nodes(double c, int64_t terms);
/// e^{−step·(k+1)}.
std::vector<double> linear_rates(double step, int64_t terms);
/// e^{−β_k}, β_k = low·(high/low)^{k/(m−1)}.
std::vector<double> geometric_rates(double low, double high, int64_t terms);

/// Lemma F.1, which the paper cites, seems to construct this (our reading; neither paper prints the numbers):
/// f(t) = e^{−at} Q(e^{−at}), Q the Chebyshev interpolant of degree m − 1 on [0, 1] of e·e^{aT} Ψ((x − μ)/σ),
/// Ψ(x) = exp(−1/(1 − x²)), μ = e^{−aT}, σ = e^{−aT} − e^{−a(T+1)}. Gives its ℓ1 error.
double bump_construction_error(double rate, int64_t lag, int64_t terms);

/// The least l1 + ε·gain of interpolate() over m <= heads Chebyshev nodes and their scale c: the error that `heads`
/// heads can reach in a forward pass with unit roundoff `epsilon`, by a worst-case guess of its rounding. If nothing
/// beats fetching nothing, there are no nodes and the estimate is 1. Heads beyond the best m get amplitude 0.
struct FloatFit {
  double estimate = 1;  ///< l1 + ε·gain
  double scale = 0;     ///< c; 0 without nodes
  ExponentialSum sum;
};
FloatFit best_float_fit(int64_t lag, int64_t heads, double epsilon);

}  // namespace headroom::tasks
