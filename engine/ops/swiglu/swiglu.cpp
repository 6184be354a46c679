#include "engine/ops/swiglu/swiglu.h"

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/silu/silu.h"
#include "engine/ops/swiglu/swiglu_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t grain = 1 << 14;

template <class T>
void forward_loop(const T* gate, const T* up, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = Silu::f(gate[i]) * up[i];
}

template <class T>
void grad_loop(const T* dy, const T* gate, const T* up, T* dgate, T* dup, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (dgate) dgate[i] = dy[i] * up[i] * Silu::df(gate[i], T(0));
    if (dup) dup[i] = dy[i] * Silu::f(gate[i]);
  }
}

}  // namespace

Tensor swiglu(const Tensor& gate_in, const Tensor& up_in) {
  check_floating("swiglu", {&gate_in, &up_in});
  if (!(gate_in.shape() == up_in.shape()))
    fail("swiglu: shapes differ: gate {}, up {}", gate_in.shape().str(), up_in.shape().str());
  const Tensor gate = gate_in.contiguous(), up = up_in.contiguous();
  Tensor y = Tensor::empty(gate.shape(), gate.dtype());
  visit_real("swiglu", gate, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(y.numel(), grain, [&](int64_t begin, int64_t end) {
      const T *g = gate.data<T>() + begin, *u = up.data<T>() + begin;
      T* to = y.mutable_data<T>() + begin;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::swiglu_forward(g, u, to, end - begin);
      forward_loop(g, u, to, end - begin);
    });
  });
  return y;
}

SwigluGrad swiglu_grad(const Tensor& dy_in, const Tensor& gate_in, const Tensor& up_in, bool want_gate, bool want_up) {
  const Tensor dy = dy_in.contiguous(), gate = gate_in.contiguous(), up = up_in.contiguous();
  SwigluGrad out;
  if (want_gate) out.dgate = Tensor::empty(gate.shape(), gate.dtype());
  if (want_up) out.dup = Tensor::empty(gate.shape(), gate.dtype());
  visit_real("swiglu", gate, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(gate.numel(), grain, [&](int64_t begin, int64_t end) {
      const T *d = dy.data<T>() + begin, *g = gate.data<T>() + begin, *u = up.data<T>() + begin;
      T* dgate = want_gate ? out.dgate.mutable_data<T>() + begin : nullptr;
      T* dup = want_up ? out.dup.mutable_data<T>() + begin : nullptr;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::swiglu_backward(d, g, u, dgate, dup, end - begin);
      grad_loop(d, g, u, dgate, dup, end - begin);
    });
  });
  return out;
}

}  // namespace headroom::engine
