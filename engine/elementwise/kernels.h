#pragma once
#include "engine/cpu/simd.h"

// SIMD loops over a functor, for files compiled once per instruction set.
namespace headroom::engine::HEADROOM_ISA {

template <class F>
static inline void unary_forward_simd(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, F::f(load(x + i)));
  if (i < n) store_first(y + i, F::f(load_first(x + i, n - i)), n - i);
}

template <class F>
static inline void unary_grad_simd(const float* dy, const float* x, const float* y, float* dx, int64_t n) {
  int64_t i = 0;
  const Vec zero(0.0f);
  for (; i + lanes <= n; i += lanes)
    store(dx + i, load(dy + i) * F::df(x ? load(x + i) : zero, y ? load(y + i) : zero));
  if (const int64_t m = n - i; m > 0) {
    const Vec slope = F::df(x ? load_first(x + i, m) : zero, y ? load_first(y + i, m) : zero);
    store_first(dx + i, load_first(dy + i, m) * slope, m);
  }
}

template <class F, bool stepping_a, bool stepping_b>
static inline void binary_forward_run(const float* a, const float* b, float* y, int64_t n) {
  const Vec a0(*a), b0(*b);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, F::f(stepping_a ? load(a + i) : a0, stepping_b ? load(b + i) : b0));
  if (const int64_t m = n - i; m > 0) {
    const Vec last = F::f(stepping_a ? load_first(a + i, m) : a0, stepping_b ? load_first(b + i, m) : b0);
    store_first(y + i, last, m);
  }
}

template <class F>
static inline void binary_forward_simd(const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y,
                                       int64_t n) {
  if (stride_a && stride_b) binary_forward_run<F, true, true>(a, b, y, n);
  else if (stride_a) binary_forward_run<F, true, false>(a, b, y, n);
  else if (stride_b) binary_forward_run<F, false, true>(a, b, y, n);
  else binary_forward_run<F, false, false>(a, b, y, n);
}

/// d = dy · F::f(a, b), F a slope.
template <class F>
static inline void binary_grad_simd(const float* dy, const float* a, int64_t stride_a, const float* b, int64_t stride_b,
                                    float* d, int64_t n) {
  const Vec a0(*a), b0(*b);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(d + i, load(dy + i) * F::f(stride_a ? load(a + i) : a0, stride_b ? load(b + i) : b0));
  if (const int64_t m = n - i; m > 0) {
    const Vec slope = F::f(stride_a ? load_first(a + i, m) : a0, stride_b ? load_first(b + i, m) : b0);
    store_first(d + i, load_first(dy + i, m) * slope, m);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
