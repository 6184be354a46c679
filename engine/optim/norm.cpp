#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/context.h"
#include "engine/dispatch/op.h"
#include "engine/optim/flat.h"
#include "engine/optim/update.h"
#include "engine/optim/update_kernel.h"

namespace headroom::engine {
namespace {

struct SquareSumCall {
  Tensor x;
  double scale = 1;  ///< Σ (scale · x)²; the SIMD row takes 1 only
  double total = 0;
  auto operands() { return std::array{real("x", x)}; }
};

template <class T>
double square_sum_loop(const T* x, int64_t n, double scale) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]) * scale;
    total += value * value;
  }
  return total;
}

double square_sum_fast(const float* x, int64_t n, double) { return kernel::square_sum_run(x, n); }

/// Sums of chunks of one size, added in their order.
template <class T>
void run_square_sum(SquareSumCall& c, double (*loop)(const T*, int64_t, double)) {
  const int64_t n = c.x.numel(), chunks = (n + flat_grain - 1) / flat_grain;
  const Tensor partial = Tensor::empty({chunks}, DType::f64);  // (chunks)
  double* sums = partial.mutable_data<double>();
  const T* data = c.x.data<T>();
  parallel_for(chunks, [&](int64_t chunk) {
    sums[chunk] = loop(data + chunk * flat_grain, std::min(flat_grain, n - chunk * flat_grain), c.scale);
  });
  c.total = 0;
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

/// The largest |x|; NaN where one is.
template <class T>
double largest_of(const Tensor& x) {
  double largest = 0;
  for (const T *at = x.data<T>(), *end = at + x.numel(); at != end; ++at) {
    if (std::isnan(*at)) return static_cast<double>(*at);
    largest = std::max(largest, std::fabs(static_cast<double>(*at)));
  }
  return largest;
}

/// The sum is right if nothing overflowed and what squares below the smallest normal number lost, at most half a
/// subnormal unit each, is nothing beside it.
bool is_safe(double total, int64_t n, DType dtype) {
  const double least = dtype == DType::f32 ? 0x1p-126 : std::numeric_limits<double>::min();
  return std::isfinite(total) && total >= static_cast<double>(n) * least;
}

}  // namespace

double norm(const Tensor& x) {
  SquareSumCall call{x};
  square_sum_op.check(call);
  if (x.numel() == 0) return 0;
  call.x = x.contiguous();
  square_sum_op.run(call);
  if (is_safe(call.total, x.numel(), x.dtype())) return std::sqrt(call.total);
  const double largest = x.dtype() == DType::f32 ? largest_of<float>(call.x) : largest_of<double>(call.x);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  call.scale = std::ldexp(1.0, -exponent);
  const ReferenceScope scope;  // the loops, which scale and add in f64
  square_sum_op.run(call);
  return std::ldexp(std::sqrt(call.total), exponent);
}

}  // namespace headroom::engine
