#include "engine/ops/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/rows/row_map.h"
#include "engine/ops/softmax/softmax_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
void softmax_loop(const T* x, T* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const T top = *std::max_element(x, x + n);
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += y[i] = std::exp(x[i] - top);
    for (int64_t i = 0; i < n; ++i) y[i] /= total;
  }
}

template <class T>
void softmax_grad_loop(const T* dy, const T* y, T* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, dy += n, y += n, dx += n) {
    T dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += dy[i] * y[i];
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

}  // namespace

RowOp softmax_op{
    {"softmax", row_rows<kernel::softmax_rows, softmax_loop<float>, softmax_loop<double>>(), 1},
    {"softmax_grad", row_grad_rows<kernel::softmax_grad_rows, softmax_grad_loop<float>, softmax_grad_loop<double>>()}};

Tensor softmax(const Tensor& x) { return map_rows(softmax_op, x); }
Tensor softmax_grad(const Tensor& dy, const Tensor& y) { return map_rows_grad(softmax_op, dy, y); }

}  // namespace headroom::engine
