#include "engine/ops/rows/row_map.h"

#include "engine/cpu/widened.h"
#include "engine/ops/rows/rows.h"

namespace headroom::engine {
namespace detail {

template <class T>
void run_rows(RowCall& call, RowLoop<T> loop) {
  const Rows rows = rows_of("rows", call.x);
  const T* x = call.x.data<T>();
  T* y = call.y.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    loop(x + begin * rows.width, y + begin * rows.width, end - begin, rows.width);
  });
}

template <class T>
void run_rows_grad(RowGradCall& call, RowGradLoop<T> loop) {
  const Rows rows = rows_of("rows", call.y);
  const T *dy = call.dy.data<T>(), *y = call.y.data<T>();
  T* dx = call.dx.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(dy + first, y + first, dx + first, end - begin, rows.width);
  });
}

void run_rows_widened(RowCall& call, RowLoop<float> loop) {
  const Rows rows = rows_of("rows", call.x);
  const int64_t width = rows.width;
  const bf16* x = call.x.data<bf16>();
  bf16* y = call.y.mutable_data<bf16>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_rows(width) * width);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t n) {
          loop(f32.widen(0, x + row * width, n * width), f32[1], n, width);
          f32.narrow(1, y + row * width, n * width);
        },
        widened_rows(width));
  });
}

void run_rows_grad_widened(RowGradCall& call, RowGradLoop<float> loop) {
  const Rows rows = rows_of("rows", call.y);
  const int64_t width = rows.width;
  const bf16 *dy = call.dy.data<bf16>(), *y = call.y.data<bf16>();
  bf16* dx = call.dx.mutable_data<bf16>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(3, widened_rows(width) * width);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t n) {
          const int64_t first = row * width, size = n * width;
          loop(f32.widen(0, dy + first, size), f32.widen(1, y + first, size), f32[2], n, width);
          f32.narrow(2, dx + first, size);
        },
        widened_rows(width));
  });
}

template void run_rows<float>(RowCall&, RowLoop<float>);
template void run_rows<double>(RowCall&, RowLoop<double>);
template void run_rows_grad<float>(RowGradCall&, RowGradLoop<float>);
template void run_rows_grad<double>(RowGradCall&, RowGradLoop<double>);

}  // namespace detail

Tensor map_rows(const RowOp& op, const Tensor& x) {
  RowCall call{x};
  op.forward.check(call);
  rows_of(op.forward.name(), x);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, n)
  if (call.y.numel() > 0) op.forward.run(call);
  return call.y;
}

Tensor map_rows_grad(const RowOp& op, const Tensor& dy, const Tensor& y) {
  RowGradCall call{dy, y};
  op.grad.check(call);
  op.grad.check_same_shape(call);
  rows_of(op.grad.name(), y);
  call.dx = Tensor::empty(y.shape(), y.dtype(), y.device());  // (…, n)
  if (call.dx.numel() > 0) op.grad.run(call);
  return call.dx;
}

}  // namespace headroom::engine
