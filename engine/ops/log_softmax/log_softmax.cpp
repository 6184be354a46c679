#include "engine/ops/log_softmax/log_softmax.h"

#include <cmath>

#include "engine/ops/log_softmax/log_softmax_kernel.h"
#include "engine/ops/rows.h"

namespace headroom::engine {
namespace {

template <class T>
void log_softmax_loop(const T* x, T* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const T top = *std::max_element(x, x + n);
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
    const T log_total = std::log(total);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - log_total;
  }
}

template <class T>
void log_softmax_grad_loop(const T* dy, const T* y, T* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, dy += n, y += n, dx += n) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += dy[i];
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - std::exp(y[i]) * total;
  }
}

}  // namespace

Tensor log_softmax(const Tensor& input) {
  check_floating("log_softmax", {&input});
  const Rows rows = rows_of("log_softmax", input);
  const Tensor x = input.contiguous();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  visit_real("log_softmax", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const T* from = x.data<T>() + begin * rows.width;
      T* to = y.mutable_data<T>() + begin * rows.width;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::log_softmax_rows(from, to, end - begin, rows.width);
      log_softmax_loop(from, to, end - begin, rows.width);
    });
  });
  return y;
}

Tensor log_softmax_grad(const Tensor& dy_in, const Tensor& y) {
  const Rows rows = rows_of("log_softmax", y);
  const Tensor dy = dy_in.contiguous();
  Tensor dx = Tensor::empty(y.shape(), y.dtype());
  if (dx.numel() == 0) return dx;
  visit_real("log_softmax", y, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * rows.width;
      const T *pdy = dy.data<T>() + first, *py = y.data<T>() + first;
      T* to = dx.mutable_data<T>() + first;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::log_softmax_grad_rows(pdy, py, to, end - begin, rows.width);
      log_softmax_grad_loop(pdy, py, to, end - begin, rows.width);
    });
  });
  return dx;
}

}  // namespace headroom::engine
