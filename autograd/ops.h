#pragma once
#include <vector>

#include "autograd/var.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/elementwise/unary_list.h"
#include "engine/ops/rope/rope.h"
#include "engine/quantized/quantized_matrix.h"
#include "engine/rng.h"

/// Every differentiable op. Shapes are row-major in PyTorch's order: B batch, T time, C channels, H heads, D head
/// width, V vocabulary. All take f32 or f64 and throw Error naming the op and the shapes that do not fit. What an op
/// computes, and its gradient, is documented in engine/ops/NAME/NAME.h.
namespace headroom::autograd {

// ---- elementwise, one operand: neg exp log sqrt rsqrt tanh sigmoid relu silu gelu gelu_tanh
#define HEADROOM_DECLARE(NAME, FUNCTOR) Var NAME(const Var& x);
HEADROOM_UNARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE
Var scale(const Var& x, double factor);

// ---- elementwise, two operands, broadcast
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }

// ---- views (no data moves forward; backward moves what it must)
Var reshape(const Var& x, const Shape& shape);
Var permute(const Var& x, const std::vector<int>& axes);
Var transpose(const Var& x, int axis_a, int axis_b);
Var slice(const Var& x, int axis, int64_t begin, int64_t end);
Var expand(const Var& x, const Shape& shape);
Var concat(const std::vector<Var>& parts, int axis);

// ---- products
/// (…, M, K) × (…, K, N) → (…, M, N), batch axes broadcast. A transposed operand is stored (…, K, M) or (…, N, K).
Var matmul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out).
Var linear(const Var& x, const Var& weight, const Var& bias = {});
/// The same with a frozen matrix (out, in) that stays in its blocks; x and bias have gradients.
Var quantized_linear(const Var& x, const engine::QuantizedMatrix& weight, const Var& bias = {});

// ---- reductions over axes (all when empty)
Var sum(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);
Var mean(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);
/// The gradient goes to the first of equal maxima.
Var max(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);

// ---- normalisation over the last axis
Var softmax(const Var& x);
Var log_softmax(const Var& x);
/// x (…, C), weight (C), bias (C) or undefined.
Var layer_norm(const Var& x, const Var& weight, const Var& bias, double eps = 1e-5);
Var rms_norm(const Var& x, const Var& weight, double eps = 1e-6);

// ---- choice, masks, dropout
/// condition bool, broadcast with a and b.
Var where(const Tensor& condition, const Var& a, const Var& b);
/// `value` where mask (bool, broadcasts to x) is true, x elsewhere.
Var masked_fill(const Var& x, const Tensor& mask, double value);
/// x / (1-p) kept with probability 1-p, else 0; element i's fate is random_bits(key, i). p = 0 is the identity.
Var dropout(const Var& x, double p, const engine::RngKey& key);

// ---- Transformer pieces
/// silu(gate) · up, same shape.
Var swiglu(const Var& gate, const Var& up);
/// table (V, C), indices i64 or i32 of any shape (…) → (…, C). An index outside [0, V) is an Error that names it.
Var embedding(const Var& table, const Tensor& indices);
/// Turns pairs of the last axis of x (B, T, H, D) by the angles of a table.
Var rope(const Var& x, const engine::RopeTable& table);
/// Rotates pairs of the last axis of x (B, T, H, D) by position · base^(-2i/D). positions i64 (T) or (B, T).
/// `interleaved`: pairs (2i, 2i+1); else halves (i, i + D/2). D even.
Var rope(const Var& x, const Tensor& positions, double base = 10000.0, bool interleaved = false);

using engine::AttentionOptions;
/// softmax(scale · q kᵀ + bias) v in one pass, without a T×T matrix in memory (Dao et al., 2022; Rabe & Staats, 2021).
///   q (B, Tq, H, d_qk), k (B, Tk, H_kv, d_qk), v (B, Tk, H_kv, d_v) → (B, Tq, H, d_v);  H_kv divides H.
///   slopes (H) or undefined: ALiBi (Press et al., 2022), bias = -slope_h · |i + (Tk - Tq) - j|, differentiable.
/// A query that may attend nothing gives zeros and no gradient.
Var attention(const Var& q, const Var& k, const Var& v, const Var& slopes = {}, const AttentionOptions& options = {});
/// The same from matmul, softmax and masks: the definition that `attention` must match.
Var attention_composed(const Var& q, const Var& k, const Var& v, const Var& slopes = {},
                       const AttentionOptions& options = {});

// ---- losses
enum class Reduction { mean, sum };
/// logits (…, V), targets i64 (…) → scalar. Positions whose target is ignore_index count neither in the sum nor in the
/// mean; a mean over none is 0.
Var cross_entropy(const Var& logits, const Tensor& targets, Reduction reduction = Reduction::mean,
                  int64_t ignore_index = -100);
/// mean or sum of (prediction - target)², same shapes.
Var mse(const Var& prediction, const Var& target, Reduction reduction = Reduction::mean);

}  // namespace headroom::autograd
