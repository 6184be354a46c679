#include "engine/elementwise/unary.h"

#include "engine/cpu/widened.h"
#include "engine/elementwise/strided.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
const T* at(const Tensor& x, int64_t i) {
  return x.defined() ? x.data<T>() + i : nullptr;
}

}  // namespace

namespace detail {

template <class T>
void run_unary(UnaryCall& call, UnaryLoop<T> loop) {
  const T* x = call.x.data<T>();
  T* y = call.y.mutable_data<T>();
  parallel_ranges(call.x.numel(), elementwise_grain,
                  [&](int64_t begin, int64_t end) { loop(x + begin, y + begin, end - begin); });
}

template <class T>
void run_unary_grad(UnaryGradCall& call, UnaryGradLoop<T> loop) {
  const T* dy = call.dy.data<T>();
  T* dx = call.dx.mutable_data<T>();
  parallel_ranges(call.dy.numel(), elementwise_grain,
                  [&](int64_t i, int64_t end) { loop(dy + i, at<T>(call.x, i), at<T>(call.y, i), dx + i, end - i); });
}

void run_unary_widened(UnaryCall& call, UnaryLoop<float> loop) {
  const bf16* x = call.x.data<bf16>();
  bf16* y = call.y.mutable_data<bf16>();
  parallel_ranges(call.x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_run);
    for_each_block(begin, end, [&](int64_t i, int64_t n) {
      loop(f32.widen(0, x + i, n), f32[1], n);
      f32.narrow(1, y + i, n);
    });
  });
}

void run_unary_grad_widened(UnaryGradCall& call, UnaryGradLoop<float> loop) {
  const bf16* dy = call.dy.data<bf16>();
  bf16* dx = call.dx.mutable_data<bf16>();
  parallel_ranges(call.dy.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(4, widened_run);
    for_each_block(begin, end, [&](int64_t i, int64_t n) {
      loop(f32.widen(0, dy + i, n), f32.widen(1, at<bf16>(call.x, i), n), f32.widen(2, at<bf16>(call.y, i), n), f32[3],
           n);
      f32.narrow(3, dx + i, n);
    });
  });
}

#define HEADROOM_INSTANTIATE(T)                         \
  template void run_unary<T>(UnaryCall&, UnaryLoop<T>); \
  template void run_unary_grad<T>(UnaryGradCall&, UnaryGradLoop<T>);
HEADROOM_INSTANTIATE(float)
HEADROOM_INSTANTIATE(double)
HEADROOM_INSTANTIATE(bf16)
HEADROOM_INSTANTIATE(f16)
#undef HEADROOM_INSTANTIATE

}  // namespace detail

bool UnaryCall::run_in_blocks(void (*run)(UnaryCall&)) const {
  return detail::run_in_blocks(*this, &UnaryCall::y, run);
}
bool UnaryGradCall::run_in_blocks(void (*run)(UnaryGradCall&)) const {
  return detail::run_in_blocks(*this, &UnaryGradCall::dx, run);
}

Tensor unary(const UnaryOp& op, const Tensor& x) {
  UnaryCall call{x};
  op.forward.check(call);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (call.y.numel() > 0) op.forward.run(call);
  return call.y;
}

Tensor unary_grad(const UnaryOp& op, const Tensor& dy, const Tensor& x, const Tensor& y) {
  UnaryGradCall call{dy, x, y};
  op.grad.check(call);
  op.grad.check_same_shape(call);
  call.dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  if (call.dx.numel() > 0) op.grad.run(call);
  return call.dx;
}

}  // namespace headroom::engine
