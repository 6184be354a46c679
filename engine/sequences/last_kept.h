#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// The position of the last element that `mask` keeps in each row: mask bool (B, T) → i64 (B), b · T + t with the
/// largest t for which mask[b, t] is true; -1 if none is. Runs on the mask's device without waiting for it. Throws
/// Error for another shape.
Tensor last_kept(const Tensor& mask);

struct LastKeptCall {
  Tensor mask;
  Tensor y{};
  auto operands() { return std::array{engine::mask("mask", mask)}; }
};
extern Op<LastKeptCall> last_kept_op;

}  // namespace headroom::engine
