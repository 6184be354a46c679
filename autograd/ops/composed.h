#pragma once
#include <string>
#include <utility>
#include <vector>

#include "autograd/reduction.h"
#include "autograd/var.h"

// Functions made of the other ops, forward and backward: they run wherever these do.
namespace headroom::autograd {

/// Σ x[0 … i] along `axis`, by log₂ n additions of shifted copies. Its rounding error grows with log n, not n.
Var cumsum(const Var& x, int axis);

/// x in ascending (or descending) order along `axis`, and the i64 indices that gather() it. Equal elements stay in
/// order, NaN is larger than every number. The order is found on the CPU.
std::pair<Var, Tensor> sort(const Var& x, int axis = -1, bool descending = false);
/// The k largest along `axis`, largest first, and their indices.
std::pair<Var, Tensor> topk(const Var& x, int64_t k, int axis = -1);

/// x with source[i, k, j] added to its [i, index[i, k, j], j], the index on `axis`: gather()'s inverse. index i64,
/// broadcast to source as in gather().
Var scatter_add(const Var& x, int axis, const Tensor& index, const Var& source);
/// i64 (…) → (…, classes): 1 at the index, 0 elsewhere. Throws Error naming an index outside [0, classes).
Tensor one_hot(const Tensor& index, int64_t classes, engine::DType dtype = engine::DType::f32);

/// ln Σ e^x over `axes` (all if empty), without overflow; -∞ where every x is.
Var logsumexp(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);
/// √Σ x² over `axes` (all if empty). The gradient at 0 is 0.
Var l2_norm(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);

/// `before` and `after` elements of `value` at the ends of `axis`.
Var pad(const Var& x, int axis, int64_t before, int64_t after, double value = 0);
/// x (…, R, C) with zeros above (tril) or below (triu) the k-th diagonal: elements with j - i ≤ k, or ≥ k, stay.
Var tril(const Var& x, int64_t k = 0);
Var triu(const Var& x, int64_t k = 0);

/// Einstein's sums: einsum("bqd,bkd->bqk", {q, k}). A letter names an axis; those missing on the right are summed. Two
/// operands at a time become one matmul. Throws Error naming the equation and the letter that does not fit.
Var einsum(const std::string& equation, const std::vector<Var>& operands);

struct Conv1dOptions {
  int64_t stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  ///< zeros at the ends; before = dilation · (K - 1) makes it causal
};
/// Cross-correlation: x (B, C, T), weight (O, C, K), bias (O) or undefined → (B, O, T'), one matmul over gathered
/// columns (B, C · K, T').
Var conv1d(const Var& x, const Var& weight, const Var& bias = {}, const Conv1dOptions& options = {});

/// mean or sum of |prediction - target|, same shapes → scalar.
Var l1(const Var& prediction, const Var& target, Reduction reduction = Reduction::mean);
/// The same of d²/2 for |d| ≤ delta, else delta · (|d| - delta/2), d = prediction - target (Huber, 1964).
Var huber(const Var& prediction, const Var& target, double delta = 1, Reduction reduction = Reduction::mean);
/// The same of -t ln σ(x) - (1 - t) ln(1 - σ(x)), x the logits and t the targets in [0, 1], without overflow.
Var bce_with_logits(const Var& logits, const Var& targets, Reduction reduction = Reduction::mean);

}  // namespace headroom::autograd
