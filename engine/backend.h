#pragma once
#include "engine/context.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// Whether the fast f32 kernels serve this tensor: f32 on the CPU, and not under a ReferenceScope.
bool use_fast(const Tensor& x);
inline bool reference_only() { return context().reference; }

/// Throws Error naming `op` unless every tensor is defined, on one device, and of one floating dtype (f32 or f64).
void check_floating(const char* op, std::initializer_list<const Tensor*> tensors);

/// Calls f(T{}) with float or double, as the tensor's dtype says. Throws Error naming `op` for any other dtype or for a
/// tensor that is not on the CPU.
template <class F>
decltype(auto) visit_real(const char* op, const Tensor& x, F&& f);

[[noreturn]] void no_kernel(const char* op, const Tensor& x);

template <class F>
decltype(auto) visit_real(const char* op, const Tensor& x, F&& f) {
  if (x.device().is_cpu() && x.dtype() == DType::f32) return f(float{});
  if (x.device().is_cpu() && x.dtype() == DType::f64) return f(double{});
  no_kernel(op, x);
}

}  // namespace headroom::engine
