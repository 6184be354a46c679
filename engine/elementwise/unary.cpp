#include "engine/elementwise/unary.h"

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

#define HEADROOM_INSTANTIATE(T)                         \
  template void run_unary<T>(UnaryCall&, UnaryLoop<T>); \
  template void run_unary_grad<T>(UnaryGradCall&, UnaryGradLoop<T>);
HEADROOM_INSTANTIATE(float)
HEADROOM_INSTANTIATE(double)
HEADROOM_INSTANTIATE(bf16)
HEADROOM_INSTANTIATE(f16)
#undef HEADROOM_INSTANTIATE

}  // namespace detail

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
