#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "engine/tensor.h"

namespace headroom::tasks {

/// Query and key maps of one attention head, f64. Its logits are z_lj = scale · x_lᵀ wqᵀ R_{j−l} wk x_j − alibi_slope ·
/// (l − j), without R if rope_base is unset. Normed queries are q_gain ⊙ wq x / √(mean (wq x)² + norm_eps) instead of
/// wq x, and keys likewise.
struct HeadMaps {
  /// (d_H, D). With biases (d_H, D + 1): they are the last column and every token ends in a 1, so in the theorems a
  /// token of norm B counts with √(B² + 1), and the maps' norms include the biases.
  engine::Tensor wq, wk;
  double scale = 1;
  bool has_biases = false;
  double alibi_slope = 0;
  std::optional<double> rope_base{};  ///< queries and keys turn with their positions, in pairs (i, i + d_H/2)
  bool rope_interleaved = false;      ///< or pairs (2i, 2i + 1)
  /// d_H/2 values to use instead of base^(−2i/d_H), if the model scales them; else empty.
  std::vector<double> rope_frequencies{};
  engine::Tensor q_gain{}, k_gain{};  ///< (d_H), undefined if queries and keys are not normed
  double norm_eps = 0;
  bool is_causal = true;  ///< false: trained to look ahead too
};

/// Throws Error naming x (f64) and the number if one is not finite.
void require_finite(const std::string& name, const engine::Tensor& x);

/// Random tokens (D, L), f64: uniform on the sphere of the given norm.
engine::Tensor random_tokens(int64_t width, int64_t length, double norm, uint64_t seed);

}  // namespace headroom::tasks
