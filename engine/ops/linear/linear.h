#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis: x (…, in), weight (out, in), bias (out) or undefined → y (…, out). Adds the
/// bias to each tile of the product while it is in cache. Throws Error if the shapes do not fit. `pads_rows`: on a GPU,
/// y is padded_rows(), which start at multiples of 16 bytes, as its fastest products want. Use it for logits and
/// SwiGLU's operands, where such rows are read in place; most ops would copy them. x may be such rows, too, and weight.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool pads_rows = false);

/// A checked call for its implementations: x (rows, in), y (rows, out); on a GPU they may be strided.
struct LinearCall {
  Tensor x, weight, bias;
  Tensor y{};
  auto operands() { return std::array{real("x", x), real("weight", weight), optional_real("bias", bias)}; }
  Work work() const;
};
extern Op<LinearCall> linear_op;

struct LinearGrad {
  Tensor dx, dweight, dbias;  ///< undefined if not wanted
};
/// Tensors to write gradients to instead of new ones: for all wanted ones or none; of the operands' dtype, or f32 for
/// halves.
struct LinearPlaces {
  Tensor dweight, dbias;
  bool is_late = false;  ///< dbias may be written as late as JoinedSums::finish()
};

/// dx = dy · W,   dW = dyᵀ · x,   dbias = Σ_rows dy; sums over rows are in an order fixed by the shape. has_bias: true
/// if the layer has a bias, even if its gradient is not needed. On a GPU dW and dbias are then one product, so that
/// each has the same bits with and without the other, and go to `places`. Adds `added`, of x's shape, to dx. Without
/// it dx is padded_rows() if x is.
LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias, bool has_bias, const LinearPlaces& places = {}, const Tensor& added = {});

/// The sums over rows, for their implementations: dy (rows, out), x (rows, in). They make dweight (out, in) and dbias
/// (out), unless one is not needed and stays undefined; they may write to those already defined.
struct LinearSumsCall {
  Tensor dy, x;
  bool need_weight, need_bias, has_bias;
  Tensor dweight, dbias;
  bool is_late;
  auto operands() { return std::array{real("dy", dy), real("x", x)}; }
  Work work() const;
};
extern Op<LinearSumsCall> linear_sums_op;

}  // namespace headroom::engine
