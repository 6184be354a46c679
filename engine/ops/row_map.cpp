#include "engine/ops/row_map.h"

#include "engine/ops/rows.h"

namespace headroom::engine {

Tensor map_rows(const RowKernels& kernels, const Tensor& input) {
  check_floating(kernels.name, {&input});
  const Rows rows = rows_of(kernels.name, input);
  const Tensor x = input.contiguous();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  visit_real(kernels.name, x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const T* from = x.data<T>() + begin * rows.width;
      T* to = y.mutable_data<T>() + begin * rows.width;
      if constexpr (std::is_same_v<T, double>) kernels.forward_f64(from, to, end - begin, rows.width);
      else if (reference_only()) kernels.forward_reference_f32(from, to, end - begin, rows.width);
      else kernels.forward_f32(from, to, end - begin, rows.width);
    });
  });
  return y;
}

Tensor map_rows_grad(const RowKernels& kernels, const Tensor& dy_in, const Tensor& y) {
  const Rows rows = rows_of(kernels.name, y);
  const Tensor dy = dy_in.contiguous();
  Tensor dx = Tensor::empty(y.shape(), y.dtype());
  if (dx.numel() == 0) return dx;
  visit_real(kernels.name, y, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * rows.width;
      const T *pdy = dy.data<T>() + first, *py = y.data<T>() + first;
      T* to = dx.mutable_data<T>() + first;
      if constexpr (std::is_same_v<T, double>) kernels.grad_f64(pdy, py, to, end - begin, rows.width);
      else if (reference_only()) kernels.grad_reference_f32(pdy, py, to, end - begin, rows.width);
      else kernels.grad_f32(pdy, py, to, end - begin, rows.width);
    });
  });
  return dx;
}

}  // namespace headroom::engine
