#pragma once
#include "engine/elementwise/binary.h"
#include "engine/elementwise/unary.h"

namespace headroom::engine {

/// Elementwise on bool tensors; shapes broadcast as in NumPy. Throws Error naming the op if an operand is not bool:
/// write `x > 0.0`, or x.to(DType::boolean).
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
extern BinaryOp logical_and_op, logical_or_op, logical_xor_op;
extern Op<UnaryCall> logical_not_op;

/// `&&` and `||` are not overloaded: they would evaluate both sides without looking so.
inline Tensor operator&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return logical_xor(a, b); }
inline Tensor operator!(const Tensor& x) { return logical_not(x); }

/// True if any element of a bool tensor is true (false if empty), and if all are. The host reads the result, so these
/// wait for a device.
bool any(const Tensor& x);
bool all(const Tensor& x);

}  // namespace headroom::engine
