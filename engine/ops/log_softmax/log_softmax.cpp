#include "engine/ops/log_softmax/log_softmax.h"

#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/ops/log_softmax/log_softmax_kernel.h"
#include "engine/ops/rows/row_map.h"

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

RowOp log_softmax_op{
    {"log_softmax", row_rows<kernel::log_softmax_rows, log_softmax_loop<float>, log_softmax_loop<double>>(), 1},
    {"log_softmax_grad",
     row_grad_rows<kernel::log_softmax_grad_rows, log_softmax_grad_loop<float>, log_softmax_grad_loop<double>>(), 1}};

Tensor log_softmax(const Tensor& x) { return map_rows(log_softmax_op, x); }
Tensor log_softmax_grad(const Tensor& dy, const Tensor& y) { return map_rows_grad(log_softmax_op, dy, y); }

double log_sum_exp(const float* x, int64_t n) {
  require(n >= 1, "log_sum_exp: of {} numbers", n);
  if (!context().reference) {
    float top = 0;
    const double total = kernel::exp_sum(x, n, top);
    return top + std::log(total);
  }
  const double top = *std::max_element(x, x + n);
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
  return top + std::log(total);
}

}  // namespace headroom::engine
