#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// Where the last element that `mask` keeps of each row stands: mask bool (B, T) → i64 (B), b · T + t with the largest
/// t where mask[b, t] is true; -1 where none is. On the mask's device, which is not waited for. Throws Error for
/// another shape.
Tensor last_kept(const Tensor& mask);

struct LastKeptCall {
  Tensor mask;
  Tensor y{};
  auto operands() { return std::array{engine::mask("mask", mask)}; }
};
extern Op<LastKeptCall> last_kept_op;

}  // namespace headroom::engine
