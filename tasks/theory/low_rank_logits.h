#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"
#include "tasks/theory/heads.h"

namespace headroom::tasks {

/// M = wqᵀ wk = u · diag(s) · vtᵀ of rank d_H, without a D × D matrix: QR of wqᵀ and of wkᵀ, and the SVD of the d_H ×
/// d_H core. u, v (D, d_H), s (d_H) falling. Needs d_H <= D.
struct LogitSvd {
  engine::Tensor u, s, v;
};
LogitSvd logit_svd(const HeadMaps& maps);

/// The first `rank` columns of a (n, k), each times √s_j, s (k): (n, rank).
engine::Tensor balanced(const engine::Tensor& a, const engine::Tensor& s, int64_t rank);

/// ‖x_t‖ of every column of tokens (D, L), f64.
std::vector<double> token_norms(const engine::Tensor& tokens);

/// Corollary 2 of the paper: errors of replacing M by its rank-r truncated SVD, under causal softmax over keys j <= l
/// with the bias −slope·(l − j). All per query l = 1 … L; bounds as natural logarithms, because e^{2Δ} overflows.
struct LowRankErrors {
  double sigma_first = 0;  ///< σ_1(M)
  double sigma_next = 0;   ///< σ_{r+1}(M)
  double delta = 0;       ///< Δ = scale ‖W_Q‖ ‖W_K‖ B² + R_0, R_0 = slope (L − 1), B the largest token norm
  double token_norm = 0;  ///< B
  double norm = 0;        ///< ‖X‖₂
  std::vector<double> error;     ///< ‖softmax(z_l) − softmax(ẑ_l)‖₂
  std::vector<double> ln_paper;  ///< of 2 e^{2Δ}/l ‖X‖₂² σ_{r+1} scale
  /// ln of min(1/2, e^{2Δ}/l) ‖X_{1..l}‖₂ ‖x_l‖ σ_{r+1} scale: J ⪯ diag(p), ‖J‖ <= 1/2, and row l of the logits has one
  /// x_l.
  std::vector<double> ln_sharp;
};
/// Throws Error as low_rank_errors() does for a head, for any tokens.
void check_low_rank(const HeadMaps& maps, int64_t rank);
/// tokens (D, L), f64; the slope is `alibi_slope`, not the head's own. Throws Error unless 1 <= rank < d_H <= D, shapes
/// agree and all is finite, and for a head with rotary positions or without a causal mask.
LowRankErrors low_rank_errors(const HeadMaps& maps, const engine::Tensor& tokens, int64_t rank, double alibi_slope);

/// The largest singular value; 0 for an empty matrix.
double spectral_norm(const engine::Tensor& a);

}  // namespace headroom::tasks
