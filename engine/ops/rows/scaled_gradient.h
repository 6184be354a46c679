#pragma once
#include "engine/dispatch/op.h"
#include "engine/parallel.h"

namespace headroom::engine {

/// dy times a gradient that was made with its loss: `gradient` is replaced by the product, or overwritten.
struct ScaledGradientCall {
  Tensor gradient, dy;  ///< any shape, and one element in the loss's dtype
  auto operands() { return std::array{real("gradient", gradient), statistic("dy", dy)}; }
  Work work() const { return {}; }  // dy is 1 in a step
};

/// On the CPU in bf16, rounding the product once. A dy of 1, as when backward() starts from the loss, needs no sweep.
inline void scale_bf16_gradient(ScaledGradientCall& c) {
  const auto factor = static_cast<float>(c.dy.item());
  if (factor == 1.0f) return;
  const Tensor scaled = Tensor::empty(c.gradient.shape(), DType::bf16);
  const bf16* from = c.gradient.data<bf16>();
  bf16* to = scaled.mutable_data<bf16>();
  parallel_ranges(scaled.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = bf16(static_cast<float>(from[i]) * factor);
  });
  c.gradient = scaled;
}

}  // namespace headroom::engine
