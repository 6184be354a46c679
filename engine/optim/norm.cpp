#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/optim/calls.h"
#include "engine/optim/flat.h"
#include "engine/optim/update_kernel.h"

namespace headroom::engine {
namespace {

/// Σ (scale · x)² of n elements; the SIMD kernel takes a scale of 1 only.
template <class T>
using SquareSum = double (*)(const T* x, int64_t n, double scale);

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
double square_sum(const Tensor& x, SquareSum<T> loop, double scale) {
  const int64_t n = x.numel(), chunks = (n + flat_grain - 1) / flat_grain;
  const Tensor partial = Tensor::empty({chunks}, DType::f64);  // (chunks)
  double* sums = partial.mutable_data<double>();
  const T* data = x.data<T>();
  parallel_for(chunks, [&](int64_t chunk) {
    sums[chunk] = loop(data + chunk * flat_grain, std::min(flat_grain, n - chunk * flat_grain), scale);
  });
  double total = 0;
  for (int64_t i = 0; i < chunks; ++i) total += sums[i];
  return total;
}

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
/// subnormal unit each, is negligible.
bool is_safe(double total, int64_t n, DType dtype) {
  const double least = dtype == DType::f32 ? 0x1p-126 : std::numeric_limits<double>::min();
  return std::isfinite(total) && total >= static_cast<double>(n) * least;
}

template <class T>
double norm_by(const Tensor& x, SquareSum<T> loop) {
  const double total = square_sum(x, loop, 1);
  if (is_safe(total, x.numel(), x.dtype())) return std::sqrt(total);
  const double largest = largest_of<T>(x);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  // The loop, which scales and adds in f64.
  return std::ldexp(std::sqrt(square_sum<T>(x, square_sum_loop, std::ldexp(1.0, -exponent))), exponent);
}

template <class T>
void run_norm(NormCall& c, SquareSum<T> loop) {
  *c.y.mutable_data<double>() = norm_by(c.x, loop);
}

}  // namespace

Op<NormCall> norm_op{"norm",
                     kernel_and_loops<NormCall>(
                         kernel::square_sum_run.levels(), [](NormCall& c) { run_norm<float>(c, square_sum_fast); },
                         [](NormCall& c) { run_norm<float>(c, square_sum_loop); },
                         [](NormCall& c) { run_norm<double>(c, square_sum_loop); })};

Tensor norm_of(const Tensor& x) {
  NormCall call{x};
  norm_op.check(call);
  if (x.numel() == 0) return Tensor::zeros({}, DType::f64, x.device());
  call.y = Tensor::empty({}, DType::f64, x.device());  // ()
  norm_op.run(call);
  return call.y;
}

double norm(const Tensor& x) { return norm_of(x).item(); }

}  // namespace headroom::engine
