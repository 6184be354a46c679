#pragma once
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "autograd/var.h"
#include "engine/quantized/quantized_matrix.h"

namespace headroom::models {

using autograd::Var;
using engine::Shape;
using engine::Tensor;

/// Multiplies each head by its own matrix: x (…, heads, in), weight (heads · out, in) → (…, heads, out), y_h = W_h x_h.
/// Throws Error if the shapes do not fit.
Var per_head_linear(const Var& x, const Var& weight);

/// W = A · B with A (out, rank) and B (rank, in), each trainable or frozen. With several heads each has its own
/// factors: its out/heads rows of W are A_h · B_h, with A (out, rank) and B (heads · rank, in).
struct LowRank {
  Var a, b;
  int64_t heads = 1;
  int64_t rank() const { return a.dim(1); }  ///< of each head
};

class Weight;

/// W + scale · B · A, a matrix with the low-rank term of an adapter (models/adapters/adapter.h): A (rank, in) and B
/// (out, rank), W in any other form.
struct Adapted {
  std::shared_ptr<const Weight> base;
  Var a, b;
  double scale = 1;
};

/// A matrix (out, in) to multiply with, in the form it is kept: a leaf (trainable if it requires a gradient, else
/// frozen), quantised blocks, low-rank factors, or one of these with an adapter. Copies share it.
class Weight {
 public:
  Weight() = default;  ///< undefined
  /// Throws Error if it is not a matrix.
  explicit Weight(Var leaf);
  explicit Weight(engine::QuantizedMatrix matrix);
  /// Throws Error if A (out, rank) and B (heads · rank, in) do not fit.
  explicit Weight(LowRank factors);
  /// Throws Error if A (rank, in) and B (out, rank) do not fit the base.
  explicit Weight(Adapted adapted);

  bool defined() const;
  int64_t out() const { return shape()[0]; }
  int64_t in() const { return shape()[1]; }
  /// (out, in), in any form.
  Shape shape() const;
  const std::variant<Var, engine::QuantizedMatrix, LowRank, Adapted>& form() const { return form_; }

  /// x · Wᵀ + bias: x (…, in), bias (out) or undefined → (…, out). Applies factors one after the other or multiplies
  /// them first, whichever takes fewer multiplications for x's rows. `pads_rows`: see engine::linear().
  Var linear(const Var& x, const Var& bias, bool pads_rows = false) const;
  /// The same weight, whose linear() also gives its x to `watch`.
  Weight watched(std::function<void(const Tensor& x)> watch) const;
  /// Rows of W by index: i64 (…) → (…, in), in `dtype` if the form has none of its own.
  Var rows(const Tensor& indices, engine::DType dtype) const;
  /// W (out, in) as numbers, unpacked, multiplied out and adapted, without a gradient.
  Tensor values(engine::DType dtype) const;
  /// "", or its special form: ", frozen", ", q4_1", ", rank 8", ", rank 8 per head", ", q4_1, adapted by
  /// rank 8".
  std::string describe() const;

 private:
  std::variant<Var, engine::QuantizedMatrix, LowRank, Adapted> form_;
  std::function<void(const Tensor& x)> watch_;  ///< or empty
};

}  // namespace headroom::models
