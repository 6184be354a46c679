#pragma once
#include "engine/dispatch/op.h"
#include "engine/rng.h"

namespace headroom::engine {

/// y_i = x_i / (1 - p) if random_bits(key, i) ≥ p · 2³², else 0 (Srivastava et al., 2014). A pure function of x, p and
/// key, linear in x: dx = dropout(dy, p, key), so no mask is kept. Throws Error unless 0 ≤ p < 1 and
/// check_key() takes the key.
Tensor dropout(const Tensor& x, double p, const RngKey& key);

struct DropoutCall {
  Tensor x;
  RngKey key;
  uint32_t threshold;  ///< elements with random bits below it are dropped
  double factor;       ///< on the others
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
extern Op<DropoutCall> dropout_op;

}  // namespace headroom::engine
