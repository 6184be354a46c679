// Compiled once per instruction set: the products of vectors and of a matrix with a vector that factorisations are made
// of. Four columns at a time where a matrix is read, so that x or y is loaded once for the four.
#include "engine/linalg/vectors_kernel.h"

#include "engine/cpu/simd_f64.h"

namespace headroom::engine::HEADROOM_ISA {

static constexpr int64_t width = lanes_of<double>;

/// out[c] = column c of `count` · x.
template <int count>
static inline void dots(int64_t m, const double* a, int64_t step, const double* x, double* out) {
  VecD sums[count][2];
  for (int c = 0; c < count; ++c) sums[c][0] = sums[c][1] = VecD(0.0);
  int64_t i = 0;
  for (; i + 2 * width <= m; i += 2 * width) {
    const VecD x0 = load(x + i), x1 = load(x + i + width);
#pragma GCC unroll 4
    for (int c = 0; c < count; ++c) {
      sums[c][0] = fma(load(a + c * step + i), x0, sums[c][0]);
      sums[c][1] = fma(load(a + c * step + i + width), x1, sums[c][1]);
    }
  }
  for (; i < m; i += width) {
    const int64_t n = m - i < width ? m - i : width;
    const VecD x0 = load_first_or_all(x + i, n);
#pragma GCC unroll 4
    for (int c = 0; c < count; ++c) sums[c][0] = fma(load_first_or_all(a + c * step + i, n), x0, sums[c][0]);
  }
  for (int c = 0; c < count; ++c) out[c] = sum(sums[c][0] + sums[c][1]);
}

/// y += Σ_c x[c] · column c.
template <int count>
static inline void add_columns(int64_t m, const double* a, int64_t step, const double* x, double* y) {
  VecD factor[count];
  for (int c = 0; c < count; ++c) factor[c] = VecD(x[c]);
  int64_t i = 0;
  for (; i + width <= m; i += width) {
    VecD total = load(y + i);
#pragma GCC unroll 4
    for (int c = 0; c < count; ++c) total = fma(load(a + c * step + i), factor[c], total);
    store(y + i, total);
  }
  if (i == m) return;
  VecD total = load_first(y + i, m - i);
  for (int c = 0; c < count; ++c) total = fma(load_first(a + c * step + i, m - i), factor[c], total);
  store_first(y + i, total, m - i);
}

double dot(int64_t n, const double* x, const double* y) {
  VecD s[4];
  for (VecD& each : s) each = VecD(0.0);
  int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) s[u] = fma(load(x + i + u * width), load(y + i + u * width), s[u]);
  for (; i < n; i += width) {
    const int64_t left = n - i < width ? n - i : width;
    s[0] = fma(load_first_or_all(x + i, left), load_first_or_all(y + i, left), s[0]);
  }
  return sum((s[0] + s[1]) + (s[2] + s[3]));
}

void axpy(int64_t n, double alpha, const double* x, double* y) { add_columns<1>(n, x, 0, &alpha, y); }

void rotate(int64_t n, double c, double s, double* x, double* y) {
  const VecD cc(c), ss(s), minus(-s);
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    const VecD a = load(x + i), b = load(y + i);
    store(x + i, fma(cc, a, minus * b));
    store(y + i, fma(cc, b, ss * a));
  }
  if (i == n) return;
  const VecD a = load_first(x + i, n - i), b = load_first(y + i, n - i);
  store_first(x + i, fma(cc, a, minus * b), n - i);
  store_first(y + i, fma(cc, b, ss * a), n - i);
}

void transposed_times(int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) dots<4>(m, a + j * step, step, x, y + j);
  for (; j < n; ++j) dots<1>(m, a + j * step, step, x, y + j);
}

void add_times(int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) add_columns<4>(m, a + j * step, step, x + j, y);
  for (; j < n; ++j) add_columns<1>(m, a + j * step, step, x + j, y);
}

void secular_sums(int64_t n, const double* d, const double* z, double base, double offset, double* out) {
  const double twice = base + offset;
  const VecD bases(base), offsets(offset), sums(twice);
  VecD values(0.0), slopes(0.0);
  int64_t j = 0;
  for (; j + width <= n; j += width) {
    const VecD pole = load(d + j), weight = load(z + j);
    const VecD t = weight / (((pole - bases) - offsets) * (pole + sums));
    values = fma(weight, t, values);
    slopes = fma(t, t, slopes);
  }
  out[0] = sum(values);
  out[1] = sum(slopes);
  for (; j < n; ++j) {
    const double t = z[j] / (((d[j] - base) - offset) * (d[j] + twice));
    out[0] += z[j] * t;
    out[1] += t * t;
  }
}

void add_outer(int64_t m, int64_t n, const double* x, const double* y, double* a, int64_t step) {
  for (int64_t j = 0; j < n; ++j) add_columns<1>(m, x, 0, y + j, a + j * step);
}

}  // namespace headroom::engine::HEADROOM_ISA
