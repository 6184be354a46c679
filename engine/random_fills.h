#pragma once
#include "engine/dispatch/op.h"
#include "engine/philox.h"

// The fills of rng.h in the dispatcher's form: the tensor to fill is the operand.
namespace headroom::engine {

/// y uniform on [a, b), or normal with mean a and standard deviation b. y: f32 or f64, contiguous, not empty.
struct RandomCall {
  Tensor y;
  double a, b;
  double last;  ///< uniform: the largest value of y's dtype below b
  RngKey key;
  auto operands() { return std::array{real("y", y)}; }
};
/// y i64: low + (word · range >> 32).
struct RandomIntegersCall {
  Tensor y;
  int64_t low;
  uint64_t range;  ///< at most 2^32
  RngKey key;
  auto operands() { return std::array{real("y", y)}; }
};
extern Op<RandomCall> random_uniform_op, random_normal_op;
extern Op<RandomIntegersCall> random_integers_op;

}  // namespace headroom::engine
