#pragma once
#include <set>
#include <string>

#include "autograd/var.h"
#include "models/config.h"
#include "tasks/kernel.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

using autograd::Var;

/// A one-layer attention, fitted to LinearFunctional's target by its scores alone.
struct RepresentabilityConfig {
  using Made = class Representability;
  KernelConfig kernel{};
  int64_t token_dim = 8;       ///< d
  int64_t length = 16;         ///< T
  int64_t first_position = 0;  ///< the error counts t ≥ first_position
  int64_t width = 64;          ///< D, for sinusoidal positions
  int64_t heads = 1;           ///< H
  int64_t head_dim = 64;       ///< d_h, for scores and values
  models::Positions positions = models::Positions::sinusoidal;
  int64_t starts = 16;    ///< random initial scores, all from one trial's seed
  int64_t steps = 200;    ///< of Adam, all starts at once
  int64_t refine = 1000;  ///< then at most this many of L-BFGS, each start by itself
  double lr = 0.05;       ///< initial value; falls to 0 along a cosine
};

/// Throws Error naming the field and what is allowed.
void validate(const RepresentabilityConfig& config);

/// The least error found for y_t = Σ_s ρ(s) x_{t−s}, x white noise, by a causal layer with a residual and without norm
/// or FFN: optimises its *attention maps* and solves for everything else.
///
/// A head is a map A_h (T, T), each row a softmax over s ≤ t, and M_h (d, d) of rank ≤ d_h, from the token to the
/// answer; the residual adds M_0 x_t. For white noise the expected error is a sum over entries, without samples:
///
///     E Σ_t ‖y_t − ŷ_t‖² = Σ_t Σ_s ‖ρ(t−s)·I − Σ_h A_h(t,s) M_h − [s = t] M_0‖_F²
///
/// For d_h ≥ d the best M_h are m_h·I: a matrix's entries are independent, and the target is 0 off the diagonal. Given
/// the maps, m is linear least squares. For d_h < d each head serves d_h coordinates, so each coordinate has N =
/// H·d_h/d maps (if H·d_h < d, some have one and others none). One problem remains: N maps.
///
/// Scores do not depend on the tokens: they have rank ≤ d_h over position vectors, q_t·k_s with q_t = W_q p_t and k_s =
/// W_k p_s (sinusoidal, or learned, which may be any); −slope·(t − s), slope > 0 (ALiBi); Σ over RoPE's frequencies of
/// a cos + b sin of the lag, as from queries and keys with biases; or 0 (none). A layer of width D ≥ T + 2d can have
/// exactly these maps, since positions span at most T directions. So such a layer *can* reach the error found, an upper
/// bound on the least error. Scores that read tokens, heads of unaligned coordinates and more starts may do better: an
/// error that no start reached may still be possible. Position vectors enter through an orthonormal basis of their
/// span, so weights may be large. Fits end at 1e-14 of the variance, and no error below 1e-16 is reported.
///
/// lower_bound() gives the error that no such layer can beat.
class Representability : public ConfiguredMeasurement<RepresentabilityConfig> {
 public:
  using ConfiguredMeasurement::ConfiguredMeasurement;
  /// Metrics, with errors as shares of the target's variance: `relative_mse` of the best start, `median_start`,
  /// `worst_start`; `starts_reached`, the number within 2 times the best; `lower_bound`; `gain`, Σ_h |m_h| of the best
  /// start, which multiplies rounding errors.
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The target's unexplained share: Σ over scored entries of (K − Σ_h m_h A_h − m_0 I)² / Σ K² for scores (S, N, T, T)
/// and target K (T, T), with the best m for each of the S: (S). Entries s > t do not count. Its gradient leaves dm out:
/// at the best m it is zero (variable projection; Golub & Pereyra, 1973). `gains`, if given: Σ_h |m_h| (S).
Var share_left(const Var& scores, const engine::Tensor& target, int64_t first_position,
               std::vector<double>* gains = nullptr);

/// The larger of two proven lower bounds, as shares of the target's variance:
/// - by width: the heads' sum lies in H·d_h dimensions, and y_t does not depend on x_t (M_0 x_t), so at least
///   1 − H·d_h/d remains. This holds for any attention, also one that reads tokens.
/// - by row sums: a map's rows sum to 1, so those of Σ_h m_h A_h + m_0 I all sum to one number c, the target's to
///   r_t = Σ_{s ≤ t} ρ(s). By Cauchy–Schwarz row t errs by at least (r_t − c)²/(t + 1). The least sum over c remains
///   for any number of heads whose maps do not read tokens; 0 if all scored rows have the same sum.
/// It is 0 if neither gives a bound, which does not mean that the error 0 is reached.
double lower_bound(const RepresentabilityConfig& config);

/// The metric names of a config.
inline std::set<std::string> metric_names_of(const RepresentabilityConfig&) {
  return {"relative_mse", "median_start", "worst_start", "starts_reached", "lower_bound", "gain"};
}

}  // namespace headroom::tasks
