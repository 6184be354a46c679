#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// xᵀ y.
HEADROOM_KERNEL_AVX512(double, dot, (int64_t n, const double* x, const double* y))
/// y += alpha · x.
HEADROOM_KERNEL_AVX512(void, axpy, (int64_t n, double alpha, const double* x, double* y))
/// (x, y) = (c·x - s·y, s·x + c·y).
HEADROOM_KERNEL_AVX512(void, rotate, (int64_t n, double c, double s, double* x, double* y))
/// y (n) = Aᵀ x for a column-major A (m, n), columns `step` apart.
HEADROOM_KERNEL_AVX512(void, transposed_times,
                       (int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y))
/// y (m) += A x.
HEADROOM_KERNEL_AVX512(void, add_times,
                       (int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y))
/// (Σ z_j·t_j, Σ t_j²) with t_j = z_j / (d_j² - (base + offset)²), the difference taken as ((d_j - base) - offset)·(d_j
/// + (base + offset)): the sums in secular.h's equation.
HEADROOM_KERNEL_AVX512(void, secular_sums,
                       (int64_t n, const double* d, const double* z, double base, double offset, double* out))
/// A += x yᵀ.
HEADROOM_KERNEL_AVX512(void, add_outer,
                       (int64_t m, int64_t n, const double* x, const double* y, double* a, int64_t step))

}  // namespace headroom::engine
