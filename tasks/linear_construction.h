#pragma once
#include <vector>

#include "engine/tensor.h"
#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// A linear functional's memory as maps of the token: y_t = Σ_m weight_m·P_m x_{t−m}.
struct LagMap {
  int64_t lag = 0;
  double weight = 0;
  engine::Tensor projection{};  ///< f64 (d, d); undefined: the identity
};

/// Writes the construction of Theorem 1 (paper, appendix "Proof of Theorem 1"; tasks/theory/constructive) into a drawn
/// model with one causal ALiBi layer whose heads have one shape, d_v a divisor of d or at least d. d/d_v heads that
/// read different coordinates act as one as wide as the token, so H heads make n = H·min(d_v, d)/d sums of
/// exponentials, which all lags share (`shared`: the proof's own heads per lag need H > Σ (m + 1)):
///   slope_h = −ln x_h, x Chebyshev nodes of the scale, and as many of the n as fetch these lags best at a roundoff
///   of 2^-14: at f32's the coefficients are thousands, and early training steps ruin their cancellation;
///   Construct::weights: W_E's rows [0, d) = I and [d, 2d) = 0, W_Q = 0, W_V^h = the head's coordinates / (1 − x_h),
///   W_O's rows [d, 2d) = Σ_m weight_m α_{m,h} P_m, W_read = the rows [d, 2d); biases of all these 0.
/// Leaves out lags that n heads cannot fetch (m >= n). Weights not named stay as drawn, so that all can train. Early
/// positions are off by softmax's normaliser, because sequences have no leading zero tokens. Throws Error naming what
/// does not fit: weights need norm = none, no feed-forward network, one readout layer, whole projections and D >= 2d.
void write_construction(const models::Transformer& model, const std::vector<LagMap>& target, int64_t token_dim,
                        Construct what);

}  // namespace headroom::tasks
