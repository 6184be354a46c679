#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = silu(gate) · up (Shazeer, "GLU variants improve Transformer", 2020), same shapes. Throws Error when they differ.
Tensor swiglu(const Tensor& gate, const Tensor& up);

struct SwigluGrad {
  Tensor dgate, dup;
};
/// dgate = dy · up · silu'(gate),   dup = dy · silu(gate). What is not wanted stays undefined.
SwigluGrad swiglu_grad(const Tensor& dy, const Tensor& gate, const Tensor& up, bool want_gate, bool want_up);

}  // namespace headroom::engine
