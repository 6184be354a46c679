#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"
#include "tasks/theory/heads.h"

namespace headroom::tasks {

/// The two coordinates that one rotation turns: (2i, 2i + 1), or (i, i + d_H/2).
enum class Pairing { interleaved, half_split };

/// The rotation by `position` steps (d, d), f64: pair i turns by position·base^{−2i/d}. Negative positions turn back.
/// Throws Error for an odd d.
engine::Tensor rotation(int64_t dim, int64_t position, Pairing pairing, double base);
/// The same with the pairs' d/2 frequencies.
engine::Tensor rotation(const std::vector<double>& frequencies, int64_t position, Pairing pairing);

/// The proposition on rotary positions: B_o = W_Qᵀ R_o W_K over offsets o = j − l in −(L−1) … L−1, and its error if W_Q
/// and W_K are each truncated to rank r by their own SVD (which keeps d_H: smaller weights, same head).
struct RopeErrors {
  double spectral = 0;     ///< max over offsets of ‖B_o − B̃_o‖₂
  double bound = 0;        ///< ‖W_Q‖ σ_{r+1}(W_K) + σ_{r+1}(W_Q) ‖W_K‖
  double logit = 0;        ///< max over l, j of |x_lᵀ (B − B̃) x_j|
  double logit_bound = 0;  ///< B² times the bound
  int64_t rank = 0;        ///< largest rank of a B̃_o, counting values above 1e-12 of the first
  double least = 0;        ///< max over offsets of σ_{r+1}(B_o): the least for rank-r matrices, one per offset
  /// The same spectral error for two true heads of width r, even r: `pairs` keeps the r/2 pairs of largest ‖W_Q
  /// pair‖·‖W_K pair‖; `mixed` takes the truncated SVD of W_Qᵀ W_K, whose factors mix pairs, and rotates its r
  /// coordinates (slip 4: no theorem covers that).
  double pairs = 0, mixed = 0;
};
/// tokens (D, L). Without scale. Pair i turns by maps.rope_frequencies if the head has them, else by base^{−2i/d}; a
/// narrower head uses those at the same relative places. Throws Error unless 1 <= rank < d_H <= D, d_H is even, shapes
/// agree and all is finite.
RopeErrors rope_errors(const HeadMaps& maps, const engine::Tensor& tokens, int64_t rank, Pairing pairing, double base);

}  // namespace headroom::tasks
