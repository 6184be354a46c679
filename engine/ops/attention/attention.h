#pragma once
#include <optional>

#include "engine/rng.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// Attention's arguments besides q, k, v and slopes.
struct AttentionOptions {
  bool causal = false;            ///< query i sees keys j ≤ i + (Tk - Tq)
  std::optional<double> scale{};  ///< on q·k; default 1/√d_qk
  double dropout = 0.0;           ///< on the probabilities
  RngKey dropout_key{};           ///< element (b, h, i, j) takes index ((b·H + h)·Tq + i)·Tk + j
  Tensor key_mask{};              ///< bool (B, Tk), true = may be attended; undefined = all
  int64_t window = 0;             ///< > 0, and causal: query i sees no key before i + (Tk - Tq) - window + 1
};

struct Attention {
  Tensor y;    ///< (B, Tq, H, d_v)
  Tensor lse;  ///< (B, H, Tq): log Σ_j exp s_ij, saved for the gradient; -inf if query i may attend to nothing. f32 if
               ///< y is a half
};

/// Scaled dot-product attention with grouped heads (Vaswani et al., 2017; Ainslie et al., "GQA", 2023), tile by tile
/// with a running maximum, without storing a Tq × Tk matrix (Dao et al., 2022; Rabe & Staats, 2021):
///
///   s_ij = scale · q_i·k_j - slope_h · |i + (Tk - Tq) - j|,   p_ij = exp(s_ij - lse_i),   y_i = Σ_j m_ij p_ij v_j
///
/// q (B, Tq, H, d_qk), k (B, Tk, H_kv, d_qk), v (B, Tk, H_kv, d_v); head h reads key-value head h / (H / H_kv). d_qk
/// and d_v are independent and ≥ 1. slopes (H) or undefined is ALiBi (Press et al., 2022). m_ij is dropout: 0 if the
/// element's random bits are below dropout · 2^32, else 1 / (1 - dropout). A query that may attend to nothing gives
/// zeros. Keys that a window (Beltagy et al., "Longformer", 2020) hides from a whole tile of queries cost nothing.
/// Throws Error naming shapes that do not fit, a dropout outside [0, 1), or a window that is negative or not causal.
Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                    const AttentionOptions& options);

struct AttentionGrad {
  Tensor dq, dk, dv;
  Tensor dslopes;  ///< undefined if slopes is
};

/// With dp_ij = m_ij dy_i·v_j, delta_i = dy_i·y_i = Σ_j p_ij dp_ij and ds_ij = p_ij (dp_ij - delta_i):
///
///   dq_i = scale Σ_j ds_ij k_j,   dk_j = scale Σ_i ds_ij q_i,   dv_j = Σ_i m_ij p_ij dy_i,
///   dslope_h = -Σ_bij ds_ij |i + (Tk - Tq) - j|
///
/// dk and dv also sum over the heads that share them. p is recomputed from q, k and lse; every sum has a fixed order.
/// Results go to `places` (dq, dk and dv, with the shapes of q, k and v, strided or not) if given in the operands'
/// dtype, else to new tensors.
AttentionGrad attention_grad(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                             const Attention& forward, const AttentionOptions& options,
                             const AttentionGrad& places = {});

}  // namespace headroom::engine
