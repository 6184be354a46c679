#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = condition ? a : b; condition bool, all three broadcast. da = condition ? dy : 0, db = condition ? 0 : dy. Throws
/// Error if the shapes do not fit or the condition is not bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

struct WhereCall {
  Tensor condition, a, b;  ///< a and b as y, or of one element; the condition as y
  Tensor y{};
  auto operands() { return std::array{real("a", a), real("b", b), mask("condition", condition)}; }
};
extern Op<WhereCall> where_op;

}  // namespace headroom::engine
