#pragma once
#include <cstdint>

#include "engine/compute_type.h"
#include "engine/math.h"

namespace headroom::engine {

/// The plain loops that define an elementwise op, from its functor. F has static templates f(x) and df(x, y).
template <class F, class T>
void unary_forward_loop(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = T(F::f(static_cast<Compute<T>>(x[i])));
}
template <class F, class T>
void unary_grad_loop(const T* dy, const T* x, const T* y, T* dx, int64_t n) {
  using C = Compute<T>;
  for (int64_t i = 0; i < n; ++i)
    dx[i] = T(static_cast<C>(dy[i]) * F::df(x ? static_cast<C>(x[i]) : C(0), y ? static_cast<C>(y[i]) : C(0)));
}
/// F has a static template f(a, b).
template <class F, class T>
void binary_forward_loop(const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* y, int64_t n) {
  using C = Compute<T>;
  for (int64_t i = 0; i < n; ++i) y[i] = T(F::f(static_cast<C>(a[i * stride_a]), static_cast<C>(b[i * stride_b])));
}

/// d = dy · F::f(a, b), F a slope.
template <class F, class T>
void binary_grad_loop(const T* dy, const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* d, int64_t n) {
  using C = Compute<T>;
  for (int64_t i = 0; i < n; ++i)
    d[i] = T(static_cast<C>(dy[i]) * F::f(static_cast<C>(a[i * stride_a]), static_cast<C>(b[i * stride_b])));
}

}  // namespace headroom::engine
