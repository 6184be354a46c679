#pragma once
#include "engine/rng.h"
#include "engine/tensor.h"
#include "models/config.h"

namespace headroom::models {

using engine::Shape;
using engine::Tensor;

/// Draws initial parameters by a scheme from rng's stream "init", in the order of the calls.
class Initializer {
 public:
  /// `layers`: the residual branches' number, for InitScheme::gpt2.
  Initializer(const Init& init, int64_t layers, engine::Rng& rng, engine::DType dtype)
      : init_(init), layers_(layers), rng_(rng), dtype_(dtype) {}

  /// A Projection's matrix (out, in). `ends_branch`: its product is added to the residual stream.
  Tensor weight(int64_t out, int64_t in, bool ends_branch = false) const;
  /// A Projection's bias (out).
  Tensor bias(int64_t out, int64_t in) const;
  /// N(0, std²).
  Tensor normal(const Shape& shape, double std) const;
  Tensor constant(const Shape& shape, double value) const { return Tensor::full(shape, value, dtype_); }
  const Init& scheme() const { return init_; }
  engine::DType dtype() const { return dtype_; }

 private:
  Tensor uniform(const Shape& shape, double bound) const;

  Init init_;
  int64_t layers_;
  engine::Rng& rng_;
  engine::DType dtype_;
};

}  // namespace headroom::models
