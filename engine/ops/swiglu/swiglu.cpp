#include "engine/ops/swiglu/swiglu.h"

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/swiglu/swiglu_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

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

template <class T>
void run(SwigluCall& c, void (*loop)(const T* gate, const T* up, T* y, int64_t n)) {
  const T *gate = c.gate.data<T>(), *up = c.up.data<T>();
  T* y = c.y.mutable_data<T>();
  parallel_ranges(c.y.numel(), elementwise_grain,
                  [&](int64_t begin, int64_t end) { loop(gate + begin, up + begin, y + begin, end - begin); });
}

template <class T>
void run_grad(SwigluGradCall& c, void (*loop)(const T* dy, const T* gate, const T* up, T* dgate, T* dup, int64_t n)) {
  const T *dy = c.dy.data<T>(), *gate = c.gate.data<T>(), *up = c.up.data<T>();
  T* dgate = c.dgate.mutable_data_or_null<T>();
  T* dup = c.dup.mutable_data_or_null<T>();
  parallel_ranges(c.gate.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    loop(dy + begin, gate + begin, up + begin, dgate ? dgate + begin : nullptr, dup ? dup + begin : nullptr,
         end - begin);
  });
}

void run_widened(SwigluCall& c) {
  const bf16 *gate = c.gate.data<bf16>(), *up = c.up.data<bf16>();
  bf16* y = c.y.mutable_data<bf16>();
  parallel_ranges(c.y.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(3, widened_run);
    for_each_block(begin, end, [&](int64_t i, int64_t n) {
      kernel::swiglu_forward(f32.widen(0, gate + i, n), f32.widen(1, up + i, n), f32[2], n);
      f32.narrow(2, y + i, n);
    });
  });
}

void run_grad_widened(SwigluGradCall& c) {
  const bf16 *dy = c.dy.data<bf16>(), *gate = c.gate.data<bf16>(), *up = c.up.data<bf16>();
  bf16* dgate = c.dgate.mutable_data_or_null<bf16>();
  bf16* dup = c.dup.mutable_data_or_null<bf16>();
  parallel_ranges(c.gate.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(5, widened_run);
    for_each_block(begin, end, [&](int64_t i, int64_t n) {
      kernel::swiglu_backward(f32.widen(0, dy + i, n), f32.widen(1, gate + i, n), f32.widen(2, up + i, n),
                              dgate ? f32[3] : nullptr, dup ? f32[4] : nullptr, n);
      if (dgate) f32.narrow(3, dgate + i, n);
      if (dup) f32.narrow(4, dup + i, n);
    });
  });
}

/// An empty tensor like x, in padded_rows() if all operands are.
Tensor made_like(const Tensor& x, bool pads_rows) {
  return pads_rows ? padded_rows(x.shape(), x.dtype(), x.device(), true)
                   : Tensor::empty(x.shape(), x.dtype(), x.device());
}

}  // namespace

Op<SwigluCall> swiglu_op{
    "swiglu",
    kernel_and_loops<SwigluCall>(
        kernel::swiglu_forward.levels(), [](SwigluCall& c) { run<float>(c, kernel::swiglu_forward.best()); },
        [](SwigluCall& c) { run<float>(c, forward_loop); }, [](SwigluCall& c) { run<double>(c, forward_loop); },
        run_widened),
    1};

Op<SwigluGradCall> swiglu_grad_op{
    "swiglu_grad",
    kernel_and_loops<SwigluGradCall>(
        kernel::swiglu_backward.levels(), [](SwigluGradCall& c) { run_grad<float>(c, kernel::swiglu_backward.best()); },
        [](SwigluGradCall& c) { run_grad<float>(c, grad_loop); },
        [](SwigluGradCall& c) { run_grad<double>(c, grad_loop); }, run_grad_widened)};

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  SwigluCall call{gate, up};
  swiglu_op.check(call);
  if (!(gate.shape() == up.shape()))
    fail("swiglu: shapes differ: gate {}, up {}", gate.shape().str(), up.shape().str());
  call.y = made_like(gate, has_padded_rows(gate) && has_padded_rows(up));
  if (call.y.numel() > 0) swiglu_op.run(call);
  return call.y;
}

SwigluGrad swiglu_grad(const Tensor& dy, const Tensor& gate, const Tensor& up, bool want_gate, bool want_up) {
  SwigluGradCall call{dy, gate, up};
  swiglu_grad_op.check(call);
  swiglu_grad_op.check_same_shape(call);
  const bool pads_rows = has_padded_rows(dy) && has_padded_rows(gate) && has_padded_rows(up);
  if (want_gate) call.dgate = made_like(gate, pads_rows);
  if (want_up) call.dup = made_like(gate, pads_rows);
  if (gate.numel() > 0) swiglu_grad_op.run(call);
  return {call.dgate, call.dup};
}

}  // namespace headroom::engine
