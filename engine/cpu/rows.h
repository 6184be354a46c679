#pragma once
#include "engine/cpu/simd.h"

// Loops along a row of floats of any length, for files compiled once per instruction set. A body sees every vector
// through `at`, which is whole or, at the row's end, partial.
namespace headroom::engine::HEADROOM_ISA {

/// All lanes are within the row.
struct Whole {
  Vec load(const float* p) const { return HEADROOM_ISA::load(p); }
  void store(float* p, Vec x) const { HEADROOM_ISA::store(p, x); }
  Vec keep(Vec x, Vec) const { return x; }
  Vec keep(Vec x) const { return x; }
};

/// Only the first n lanes are: the others load as zero and are not stored.
struct Part {
  int64_t n;
  Vec load(const float* p) const { return load_first(p, n); }
  void store(float* p, Vec x) const { store_first(p, x, n); }
  /// x in the row's lanes, `other` beyond.
  Vec keep(Vec x, Vec other) const {
    RawI lane;
    for (int i = 0; i < lanes; ++i) lane[i] = i;
    return select(Mask{lane < static_cast<int32_t>(n)}, x, other);
  }
  Vec keep(Vec x) const { return keep(x, Vec(0.0f)); }
};

/// Calls f(i, at) for every vector of a row of n elements, in order.
template <class F>
static inline __attribute__((always_inline)) void for_each_vec(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, Whole{});
  if (i < n) f(i, Part{n - i});
}

/// Σ f(i, at) over a row, all lanes: f must give zero beyond the row. Four running sums hide the additions' latency.
template <class F>
static inline __attribute__((always_inline)) float sum_over(int64_t n, const F& f) {
  Vec a(0.0f), b(0.0f), c(0.0f), d(0.0f);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a += f(i, Whole{});
    b += f(i + lanes, Whole{});
    c += f(i + 2 * lanes, Whole{});
    d += f(i + 3 * lanes, Whole{});
  }
  for (; i + lanes <= n; i += lanes) a += f(i, Whole{});
  if (i < n) b += f(i, Part{n - i});
  return sum((a + b) + (c + d));
}

/// The largest of n ≥ 1 elements.
static inline float row_maximum(const float* x, int64_t n) {
  const Vec lowest(-__builtin_inff());
  Vec a = lowest, b = lowest;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = maximum(load(x + i), a);
    b = maximum(load(x + i + lanes), b);
  }
  for (; i + lanes <= n; i += lanes) a = maximum(load(x + i), a);
  if (i < n) b = maximum(Part{n - i}.keep(load_first(x + i, n - i), lowest), b);
  return maximum_of(maximum(a, b));
}

}  // namespace headroom::engine::HEADROOM_ISA
