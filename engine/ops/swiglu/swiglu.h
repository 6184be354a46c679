#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = silu(gate) · up (Shazeer, "GLU variants improve Transformer", 2020), same shapes; in padded_rows() if both are,
/// with zeros in the gaps. Throws Error if the shapes differ.
Tensor swiglu(const Tensor& gate, const Tensor& up);

struct SwigluGrad {
  Tensor dgate, dup;
};
/// dgate = dy · up · silu'(gate),   dup = dy · silu(gate), in padded_rows() likewise. Leaves unwanted results
/// undefined.
SwigluGrad swiglu_grad(const Tensor& dy, const Tensor& gate, const Tensor& up, bool want_gate, bool want_up);

struct SwigluCall {
  Tensor gate, up;
  Tensor y{};
  auto operands() { return std::array{real("gate", gate), real("up", up)}; }
};
struct SwigluGradCall {
  Tensor dy, gate, up;
  Tensor dgate{}, dup{};  ///< undefined if not wanted
  auto operands() { return std::array{real("dy", dy), real("gate", gate), real("up", up)}; }
  Work work() const {
    return {.exponentials = static_cast<double>(gate.numel()),
            .bytes = 3 * bytes_of(dy) + bytes_of(dgate) + bytes_of(dup)};
  }
};
extern Op<SwigluCall> swiglu_op;
extern Op<SwigluGradCall> swiglu_grad_op;

}  // namespace headroom::engine
