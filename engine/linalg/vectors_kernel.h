#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// xᵀ y.
HEADROOM_KERNEL(double, dot, (int64_t n, const double* x, const double* y), (n, x, y))
/// y += alpha · x.
HEADROOM_KERNEL(void, axpy, (int64_t n, double alpha, const double* x, double* y), (n, alpha, x, y))
/// (x, y) = (c·x - s·y, s·x + c·y).
HEADROOM_KERNEL(void, rotate, (int64_t n, double c, double s, double* x, double* y), (n, c, s, x, y))
/// y (n) = Aᵀ x for a column-major A (m, n), columns `step` apart.
HEADROOM_KERNEL(void, transposed_times,
                (int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y),
                (m, n, a, step, x, y))
/// y (m) += A x.
HEADROOM_KERNEL(void, add_times, (int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y),
                (m, n, a, step, x, y))
/// (Σ z_j·t_j, Σ t_j²) with t_j = z_j / (d_j² - (base + offset)²), the difference taken as ((d_j - base) - offset)·(d_j
/// + (base + offset)): what the secular equation of secular.h is summed from.
HEADROOM_KERNEL(void, secular_sums,
                (int64_t n, const double* d, const double* z, double base, double offset, double* out),
                (n, d, z, base, offset, out))
/// A += x yᵀ.
HEADROOM_KERNEL(void, add_outer, (int64_t m, int64_t n, const double* x, const double* y, double* a, int64_t step),
                (m, n, x, y, a, step))

}  // namespace headroom::engine
