#pragma once
#include <cmath>

#include "engine/cuda/columns.cuh"
#include "engine/cuda/rows.cuh"
#include "engine/ops/rows/wide_moments.h"

// layer_norm (`centred`) and rms_norm, which differ only in the mean.
namespace headroom::engine::cuda {

struct LargerMagnitude {
  __device__ double operator()(double a, double b) const { return Larger()(std::fabs(a), std::fabs(b)); }
};

/// Mean, 0 unless `centred`, and 1/√(mean (x - mean)² + eps) of a row whose squares leave its dtype's range: divides
/// the row by a power of two near its largest element and sums in f64.
template <bool centred, class T, class Team, class C>
__device__ inline void scaled_moments(const Team& team, const T* x, int64_t n, double eps, C& mean, C& inverse) {
  double largest = 0;
  for_each_pack<1>(team, n, [&](int64_t i) { largest = LargerMagnitude()(largest, static_cast<double>(load(x[i]))); });
  largest = team.reduce(largest, LargerMagnitude());
  double unit = 1;  // a power of two
  if (largest > 0 && largest < HUGE_VAL) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    unit = std::ldexp(1.0, exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent);
  }
  double m = 0, squares = 0;
  if constexpr (centred) {
    for_each_pack<1>(team, n, [&](int64_t i) { m += static_cast<double>(load(x[i])) / unit; });
    m = team.reduce(m, Add()) / static_cast<double>(n);
  }
  for_each_pack<1>(team, n, [&](int64_t i) {
    const double d = static_cast<double>(load(x[i])) / unit - m;
    squares += d * d;
  });
  squares = team.reduce(squares, Add()) / static_cast<double>(n);
  const double small = eps / unit / unit;  // beside squares
  mean = static_cast<C>(m * unit);
  inverse = static_cast<C>(small < HUGE_VAL ? 1 / std::sqrt(squares + small) / unit : 1 / std::sqrt(eps));
}

/// With `added` the row is x + added, which the first sweep writes to `sum`, rounded.
template <class T, int pack, bool centred>
struct NormRow {
  using C = Compute<T>;
  const T *x, *added, *weight, *bias;
  T *sum, *y;
  C *mean, *inverse;
  int64_t n;
  double eps;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const T* from = x + row * n;
    if (added) from = written_sum(team, row);
    const C width = static_cast<C>(n);
    C m = 0, squares = 0;
    if constexpr (centred) {
      for_each_pack<pack>(team, n, [&](int64_t i) {
        const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
        for (int k = 0; k < pack; ++k) m += v.at[k];
      });
      m = team.reduce(m, Add()) / width;
    }
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) squares += (v.at[k] - m) * (v.at[k] - m);
    });
    const C mean_square = team.reduce(squares, Add()) / width + static_cast<C>(eps);
    C s = 1 / std::sqrt(mean_square);
    if (!moments_are_safe(mean_square)) scaled_moments<centred>(team, from, n, eps, m, s);
    if (team.index() == 0) {
      inverse[row] = s;
      if constexpr (centred) mean[row] = m;
    }
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      const Numbers<T, pack> w = load_numbers<pack>(weight + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] = (v.at[k] - m) * s * w.at[k];
      if (bias) {
        const Numbers<T, pack> b = load_numbers<pack>(bias + i, aligned);
        for (int k = 0; k < pack; ++k) v.at[k] += b.at[k];
      }
      store_numbers<pack>(y + row * n + i, v, aligned);
    });
  }
  template <class Team>
  __device__ const T* written_sum(const Team& team, int64_t row) const {
    T* to = sum + row * n;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(x + row * n + i, aligned);
      const Numbers<T, pack> a = load_numbers<pack>(added + row * n + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] += a.at[k];
      store_numbers<pack>(to + i, v, aligned);
    });
    __syncwarp();  // scaled_moments() reads what other lanes wrote; the sums in between order the warps
    return to;
  }
};

/// `added` may be null.
template <class T, int pack, bool centred>
struct NormGradRow {
  using C = Compute<T>;
  const T *dy, *x, *weight, *added;
  const C *mean, *inverse;
  T* dx;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const T *d = dy + row * n, *from = x + row * n;
    const C m = centred ? mean[row] : C(0), s = inverse[row];
    C g_sum = 0, dot = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(d + i, aligned), v = load_numbers<pack>(from + i, aligned);
      const Numbers<T, pack> w = load_numbers<pack>(weight + i, aligned);
      for (int k = 0; k < pack; ++k) {
        const C g = a.at[k] * w.at[k];
        g_sum += g;
        dot += g * ((v.at[k] - m) * s);
      }
    });
    const C width = static_cast<C>(n), dot_mean = team.reduce(dot, Add()) / width;
    C g_mean = 0;
    if constexpr (centred) g_mean = team.reduce(g_sum, Add()) / width;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> a = load_numbers<pack>(d + i, aligned);
      const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned), w = load_numbers<pack>(weight + i, aligned);
      for (int k = 0; k < pack; ++k) a.at[k] = (a.at[k] * w.at[k] - (g_mean + (v.at[k] - m) * s * dot_mean)) * s;
      if (added) {
        const Numbers<T, pack> more = load_numbers<pack>(added + row * n + i, aligned);
        for (int k = 0; k < pack; ++k) a.at[k] += more.at[k];
      }
      store_numbers<pack>(dx + row * n + i, a, aligned);
    });
  }
};

/// dw += dy · x̂ and, with `centred`, db += dy.
template <class T, bool centred>
struct NormParameterColumn {
  using C = Compute<T>;
  const T *dy, *x;
  const C *mean, *inverse;
  int64_t n;
  __device__ void operator()(int64_t row, int64_t column, C (&sums)[centred ? 2 : 1]) const {
    const C d = load(dy[row * n + column]), v = load(x[row * n + column]);
    sums[0] += d * ((v - (centred ? mean[row] : C(0))) * inverse[row]);
    if constexpr (centred) sums[1] += d;
  }
};

template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// y, the inverse and, with `centred`, the mean of every row of x, or of x + added into `sum`; bias may be null.
template <bool centred, class T>
void norm_rows(const char* name, const Tensor& x, const Tensor& added, const T* weight, const T* bias, Tensor& sum,
               T* y, Compute<T>* mean, Compute<T>* inverse, double eps) {
  const int64_t n = x.dim(-1);
  const T *from = x.data<T>(), *more = data_or_null<T>(added);
  if (more) sum = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, C)
  T* total = more ? sum.mutable_data<T>() : nullptr;
  with_pack<T>(n, [&](auto pack) {
    launch_rows(name, x.numel() / n, n,
                NormRow<T, pack(), centred>{from, more, weight, bias, total, y, mean, inverse, n, eps,
                                            are_aligned(from, more, weight, bias, total, y)});
  });
}

/// dx (plus `added`, if given), and the sums over rows in `sums` (weight's, with `centred` then bias's); either may be
/// null.
template <bool centred, class T>
void norm_grad_rows(const char* name, const Tensor& x, const T* dy, const T* weight, const Compute<T>* mean,
                    const Compute<T>* inverse, const Tensor& added, T* dx, T* sums) {
  const int64_t n = x.dim(-1), rows = x.numel() / n;
  const T *from = x.data<T>(), *more = data_or_null<T>(added);
  if (dx)
    with_pack<T>(n, [&](auto pack) {
      launch_rows(name, rows, n,
                  NormGradRow<T, pack(), centred>{dy, from, weight, more, mean, inverse, dx, n,
                                                  are_aligned(dy, from, weight, more, dx)});
    });
  if (sums)
    add_columns<centred ? 2 : 1, Compute<T>>(
        name, 1, rows, n, NormParameterColumn<T, centred>{dy, from, mean, inverse, n}, sums, x.device());
}

}  // namespace headroom::engine::cuda
