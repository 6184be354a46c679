#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis: x (…, in), weight (out, in), bias (out) or undefined → y (…, out). The bias is
/// added to each tile of the product while it is in the cache. Throws Error when the shapes do not fit. `pads_rows`: on
/// a GPU rows of y begin at multiples of 16 bytes, as its fastest products want them, so that y may be a view of wider
/// rows. That is for logits, whose loss reads such rows where they are; most ops would copy them.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool pads_rows = false);

/// A checked call, as its implementations get it: x (rows, in), y all that lies behind (rows, out).
struct LinearCall {
  Tensor x, weight, bias;
  Tensor y{};
  auto operands() { return std::array{real("x", x), real("weight", weight), optional_real("bias", bias)}; }
  Work work() const;
};
extern Op<LinearCall> linear_op;

struct LinearGrad {
  Tensor dx, dweight, dbias;  ///< undefined where not asked for
};
/// Where gradients may be written instead of into new tensors: all that are asked for, or none; of the operands' dtype,
/// or f32 for those of halves.
struct LinearPlaces {
  Tensor dweight, dbias;
};

/// dx = dy · W,   dW = dyᵀ · x,   dbias = Σ_rows dy; the sums over rows are in an order fixed by the shape. has_bias:
/// whether the layer has a bias, even if its gradient is not needed. On a GPU dW and dbias are then one product, so
/// that each has the same bits with and without the other; and they are written to `places`. `added`, of x's shape, is
/// added to dx.
LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias, bool has_bias, const LinearPlaces& places = {}, const Tensor& added = {});

/// What depends on the sums over rows, as its implementations get it: dy (rows, out), x (rows, in). They make dweight
/// (out, in) and dbias (out), one of which may be left undefined where it is not needed; those that are there already
/// are places that they may write to.
struct LinearSumsCall {
  Tensor dy, x;
  bool need_weight, need_bias, has_bias;
  Tensor dweight, dbias;
  auto operands() { return std::array{real("dy", dy), real("x", x)}; }
  Work work() const;
};
extern Op<LinearSumsCall> linear_sums_op;

}  // namespace headroom::engine
