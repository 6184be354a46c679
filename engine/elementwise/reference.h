#pragma once
#include <cstdint>

#include "engine/math.h"

namespace headroom::engine {

/// The plain loops that define an elementwise op, from its functor. F has static templates f(x) and df(x, y).
template <class F, class T>
void unary_forward_loop(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i]);
}
template <class F, class T>
void unary_grad_loop(const T* dy, const T* x, const T* y, T* dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * F::df(x ? x[i] : T(0), y ? y[i] : T(0));
}
/// F has a static template f(a, b).
template <class F, class T>
void binary_forward_loop(const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(a[i * stride_a], b[i * stride_b]);
}

}  // namespace headroom::engine
