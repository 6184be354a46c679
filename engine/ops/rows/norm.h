#pragma once
#include <cmath>

#include "engine/cpu/widened.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/rows/norm_kernel.h"
#include "engine/ops/rows/row_sums.h"

// layer_norm and rms_norm on the CPU: rows spread over threads. They differ in the mean and the bias, whose tensors are
// undefined, and whose pointers are null, for rms_norm.
namespace headroom::engine {

/// `rows` rows of n ≥ 1 elements; bias may be null.
template <class T>
using NormLoop = void (*)(const T* x, const T* weight, const T* bias, T* y, T* mean, T* inverse, int64_t rows,
                          int64_t n, T eps);
/// dx, and Σ over these rows into dweight and dbias; any of the three may be null.
template <class T>
using NormGradLoop = void (*)(const T* dy, const T* x, const T* weight, const T* mean, const T* inverse, T* dx,
                              T* dweight, T* dbias, int64_t rows, int64_t n);

/// A norm's operands and results; x + added goes to `sum` and is normalised in place of x.
struct NormRows {
  const Tensor &x, &weight, &bias, &added, &y, &mean, &inverse;
  Tensor& sum;
  double eps;

  /// What is normalised.
  const Tensor& normed() const {
    if (!added.defined()) return x;
    return sum = add(x, added);
  }
};
/// A gradient's; dx is undefined if it is not wanted, `want_sums` tells if the parameters' are, and dbias is null for
/// rms_norm.
struct NormGradRows {
  const Tensor &dy, &x, &weight, &mean, &inverse, &added, &dx;
  bool want_sums;
  Tensor &dweight, *dbias;

  int64_t vectors() const { return !want_sums ? 0 : dbias ? 2 : 1; }
  /// Ends it, given the sums (vectors, C).
  void finish(const Tensor& sums) const {
    if (dx.defined() && added.defined()) add_inplace(dx, added);
    if (!want_sums) return;
    const int64_t n = x.dim(-1);
    dweight = sums.slice(0, 0, 1).reshape({n}).to(x.dtype());            // (C)
    if (dbias) *dbias = sums.slice(0, 1, 2).reshape({n}).to(x.dtype());  // (C)
  }
};

template <class T>
void run_norm(const NormRows& c, NormLoop<T> loop) {
  const Rows rows = rows_of("norm", c.x);
  const T *x = c.normed().data<T>(), *w = c.weight.data<T>(), *b = c.bias.data_or_null<T>();
  T *y = c.y.mutable_data<T>(), *mean = c.mean.mutable_data_or_null<T>(), *inverse = c.inverse.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, w, b, y + first, mean ? mean + begin : nullptr, inverse + begin, end - begin, rows.width,
         static_cast<T>(c.eps));
  });
}

template <class T>
void run_norm_grad(const NormGradRows& c, NormGradLoop<T> loop) {
  const Rows rows = rows_of("norm", c.x);
  const int64_t n = rows.width, vectors = c.vectors();
  const T *dy = c.dy.data<T>(), *x = c.x.data<T>(), *w = c.weight.data<T>();
  const T *mean = c.mean.data_or_null<T>(), *inverse = c.inverse.data<T>();
  T* dx = c.dx.mutable_data_or_null<T>();
  c.finish(sum_over_rows<T>(rows, vectors, [&](int64_t begin, int64_t count, T* sums) {  // (vectors, C)
    const int64_t first = begin * n;
    loop(dy + first, x + first, w, mean ? mean + begin : nullptr, inverse + begin, dx ? dx + first : nullptr, sums,
         vectors == 2 ? sums + n : nullptr, count, n);
  }));
}

/// In bf16 by an f32 kernel, a few rows at a time; mean and inverse are f32.
inline void run_norm_widened(const NormRows& c, NormLoop<float> loop) {
  const Rows rows = rows_of("norm", c.x);
  const int64_t n = rows.width;
  const Tensor weight = c.weight.to(DType::f32), bias = c.bias.defined() ? c.bias.to(DType::f32) : Tensor();
  const bf16* x = c.normed().data<bf16>();
  bf16* y = c.y.mutable_data<bf16>();
  const float *w = weight.data<float>(), *b = bias.data_or_null<float>();
  float *mean = c.mean.mutable_data_or_null<float>(), *inverse = c.inverse.mutable_data<float>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_rows(n) * n);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t count) {
          loop(f32.widen(0, x + row * n, count * n), w, b, f32[1], mean ? mean + row : nullptr, inverse + row, count, n,
               static_cast<float>(c.eps));
          f32.narrow(1, y + row * n, count * n);
        },
        widened_rows(n));
  });
}

/// The parameters' sums are made in f32 and rounded once.
inline void run_norm_grad_widened(const NormGradRows& c, NormGradLoop<float> loop) {
  const Rows rows = rows_of("norm", c.x);
  const int64_t n = rows.width, block = widened_rows(n), vectors = c.vectors();
  const bf16 *dy = c.dy.data<bf16>(), *x = c.x.data<bf16>();
  const Tensor weight = c.weight.to(DType::f32);
  const float *w = weight.data<float>(), *mean = c.mean.data_or_null<float>(), *inverse = c.inverse.data<float>();
  bf16* dx = c.dx.mutable_data_or_null<bf16>();
  c.finish(sum_over_rows<float>(rows, vectors, [&](int64_t begin, int64_t count, float* sums) {  // (vectors, C)
    const WidenedBlocks f32(4, std::max<int64_t>(block, 2) * n);
    if (sums) std::fill(sums, sums + vectors * n, 0.0f);
    for_each_block(
        begin, begin + count,
        [&](int64_t row, int64_t m) {
          const int64_t first = row * n;
          float* const part = sums ? f32[3] : nullptr;
          loop(f32.widen(0, dy + first, m * n), f32.widen(1, x + first, m * n), w, mean ? mean + row : nullptr,
               inverse + row, dx ? f32[2] : nullptr, part, vectors == 2 ? part + n : nullptr, m, n);
          if (dx) f32.narrow(2, dx + first, m * n);
          for (int64_t i = 0; sums && i < vectors * n; ++i) sums[i] += part[i];
        },
        block);
  }));
}

/// Throws Error naming `op` unless x has rows, weight and `added` fit them, and eps is finite and at least 0.
inline void check_norm(const char* op, const Tensor& x, const Tensor& weight, double eps, const Tensor& added) {
  rows_of(op, x);
  check_width(op, "weight", weight, x);
  require(std::isfinite(eps) && eps >= 0, "{}: eps = {} is not finite and at least 0: x {}", op, eps, x);
  require(!added.defined() || added.shape() == x.shape(), "{}: added {} does not fit x {}", op, added.shape(),
          x.shape());
}

}  // namespace headroom::engine
