#include "engine/elementwise/binary.h"

#include "engine/cpu/widened.h"
#include "engine/elementwise/binary_walk.h"
#include "engine/elementwise/strided.h"

namespace headroom::engine {
namespace detail {

template <class T>
void run_binary(BinaryCall& call, BinaryLoop<T> loop) {
  const T *a = call.a.data<T>(), *b = call.b.data<T>();
  T* y = call.y.mutable_data<T>();
  walk_binary(call.y.shape(), call.a, call.b,
              [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t i, int64_t n) {
                loop(a + ia, stride_a, b + ib, stride_b, y + i, n);
              });
}

template <class T>
void run_binary_grad(BinaryGradCall& call, BinaryGradLoop<T> loop_a, BinaryGradLoop<T> loop_b) {
  const BinaryGradLoop<T> loop = call.by_b ? loop_b : loop_a;
  const T *dy = call.dy.data<T>(), *a = call.a.data<T>(), *b = call.b.data<T>();
  T* d = call.d.mutable_data<T>();
  walk_binary(call.d.shape(), call.a, call.b,
              [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t i, int64_t n) {
                loop(dy + i, a + ia, stride_a, b + ib, stride_b, d + i, n);
              });
}

void run_binary_widened(BinaryCall& call, BinaryLoop<float> loop) {
  const bf16 *a = call.a.data<bf16>(), *b = call.b.data<bf16>();
  bf16* y = call.y.mutable_data<bf16>();
  walk_binary(call.y.shape(), call.a, call.b,
              [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t first, int64_t count) {
                const WidenedBlocks f32(3, std::min(count, widened_run));
                for_each_block(0, count, [&](int64_t i, int64_t n) {
                  loop(f32.widen(0, a + ia + i * stride_a, stride_a ? n : 1), stride_a,
                       f32.widen(1, b + ib + i * stride_b, stride_b ? n : 1), stride_b, f32[2], n);
                  f32.narrow(2, y + first + i, n);
                });
              });
}

void run_binary_grad_widened(BinaryGradCall& call, BinaryGradLoop<float> loop_a, BinaryGradLoop<float> loop_b) {
  const BinaryGradLoop<float> loop = call.by_b ? loop_b : loop_a;
  const bf16 *dy = call.dy.data<bf16>(), *a = call.a.data<bf16>(), *b = call.b.data<bf16>();
  bf16* d = call.d.mutable_data<bf16>();
  walk_binary(call.d.shape(), call.a, call.b,
              [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t first, int64_t count) {
                const WidenedBlocks f32(4, std::min(count, widened_run));
                for_each_block(0, count, [&](int64_t i, int64_t n) {
                  loop(f32.widen(0, dy + first + i, n), f32.widen(1, a + ia + i * stride_a, stride_a ? n : 1), stride_a,
                       f32.widen(2, b + ib + i * stride_b, stride_b ? n : 1), stride_b, f32[3], n);
                  f32.narrow(3, d + first + i, n);
                });
              });
}

#define HEADROOM_INSTANTIATE(T)                            \
  template void run_binary<T>(BinaryCall&, BinaryLoop<T>); \
  template void run_binary_grad<T>(BinaryGradCall&, BinaryGradLoop<T>, BinaryGradLoop<T>);
HEADROOM_INSTANTIATE(float)
HEADROOM_INSTANTIATE(double)
HEADROOM_INSTANTIATE(bf16)
HEADROOM_INSTANTIATE(f16)
#undef HEADROOM_INSTANTIATE

}  // namespace detail

bool BinaryCall::run_in_blocks(void (*run)(BinaryCall&)) const {
  return detail::run_in_blocks(*this, &BinaryCall::y, run);
}
bool BinaryGradCall::run_in_blocks(void (*run)(BinaryGradCall&)) const {
  return detail::run_in_blocks(*this, &BinaryGradCall::d, run);
}

Tensor binary(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  BinaryCall call{a, b};
  op.check(call);
  call.y = Tensor::empty(broadcast(op.name(), a.shape(), b.shape()), a.dtype(), a.device());
  if (call.y.numel() > 0) op.run(call);
  return call.y;
}

Tensor binary_grad(const BinaryGradOp& op, const Tensor& dy, const Tensor& a, const Tensor& b, bool by_b) {
  BinaryGradCall call{dy, a, b, by_b};
  op.check(call);
  call.d = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  if (call.d.numel() > 0) op.run(call);
  return call.d;
}

}  // namespace headroom::engine
