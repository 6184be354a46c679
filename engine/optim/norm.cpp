#include <algorithm>
#include <array>

#include "engine/dispatch/op.h"
#include "engine/optim/flat.h"
#include "engine/optim/update.h"
#include "engine/optim/update_kernel.h"

namespace headroom::engine {
namespace {

struct SquareSumCall {
  Tensor x;
  double total = 0;
  auto operands() { return std::array{real("x", x)}; }
};

template <class T>
double square_sum_loop(const T* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

double square_sum_fast(const float* x, int64_t n) { return kernel::square_sum_run(x, n); }

/// Sums of chunks of one size, added in their order.
template <class T>
void run_square_sum(SquareSumCall& c, double (*loop)(const T*, int64_t)) {
  const int64_t n = c.x.numel(), chunks = (n + flat_grain - 1) / flat_grain;
  const Tensor partial = Tensor::empty({chunks}, DType::f64);  // (chunks)
  double* sums = partial.mutable_data<double>();
  const T* data = c.x.data<T>();
  parallel_for(chunks, [&](int64_t chunk) {
    sums[chunk] = loop(data + chunk * flat_grain, std::min(flat_grain, n - chunk * flat_grain));
  });
  for (int64_t i = 0; i < chunks; ++i) c.total += sums[i];
}

const Op<SquareSumCall> square_sum_op{"square_sum",
                                      {{.name = "simd",
                                        .dtypes = DType::f32,
                                        .run = [](SquareSumCall& c) { run_square_sum<float>(c, square_sum_fast); },
                                        .levels = kernel::square_sum_run.levels()},
                                       {.name = "loops",
                                        .dtypes = DType::f32,
                                        .run = [](SquareSumCall& c) { run_square_sum<float>(c, square_sum_loop); },
                                        .is_reference = true},
                                       {.name = "loops",
                                        .dtypes = DType::f64,
                                        .run = [](SquareSumCall& c) { run_square_sum<double>(c, square_sum_loop); },
                                        .is_reference = true}}};

}  // namespace

double square_sum(const Tensor& x) {
  SquareSumCall call{x};
  square_sum_op.check(call);
  if (x.numel() > 0) square_sum_op.run(call);
  return call.total;
}

}  // namespace headroom::engine
