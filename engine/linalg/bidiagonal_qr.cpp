#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/vectors_kernel.h"

namespace headroom::engine::linalg {
namespace {

struct Rotation {
  double c = 1, s = 0, r = 0;
  Rotation(double y, double z) : r(std::sqrt(y * y + z * z)) {
    if (!(r > 1e-140 && r < 1e140)) r = std::hypot(y, z);  // squares left the normal numbers
    if (r == 0) return;
    c = y / r;
    s = z / r;
  }
};

/// The columns (i, k) of x become (c·xᵢ - s·x_k, s·xᵢ + c·x_k).
void turn(const View& x, int64_t i, int64_t k, const Rotation& g) {
  if (x.rows > 0) kernel::rotate(x.rows, g.c, g.s, x.column(i), x.column(k));
}

/// Moves `fill`, the element of row `row` and column `last`, up and out by rotations of columns: rows down to `first`.
void chase_column(double* d, double* e, int64_t first, int64_t row, int64_t last, double fill, const View& v) {
  for (int64_t k = row; k >= first && fill != 0; --k) {
    const Rotation g(d[k], fill);
    d[k] = g.r;
    turn(v, last, k, g);
    if (k == first) break;
    fill = -g.s * e[k - 1];
    e[k - 1] *= g.c;
  }
}

/// If d[i] is zero, moves e[i] right and out by rotating rows.
void chase_row(double* d, double* e, int64_t i, int64_t last, const View& u) {
  double fill = e[i];
  e[i] = 0;
  for (int64_t k = i + 1; k <= last && fill != 0; ++k) {
    const Rotation g(d[k], fill);
    d[k] = g.r;
    turn(u, i, k, g);
    if (k == last) break;
    fill = -g.s * e[k];
    e[k] *= g.c;
  }
}

/// One Golub–Kahan step on rows [first, last].
void step(double* d, double* e, int64_t first, int64_t last, const View& u, const View& v) {
  const double above = last - 1 > first ? e[last - 2] : 0;
  const double a = d[last - 1] * d[last - 1] + above * above, b = d[last - 1] * e[last - 1],
               c = d[last] * d[last] + e[last - 1] * e[last - 1], half = (a - c) / 2;
  const double under = half + std::copysign(std::hypot(half, b), half);
  const double shift = under == 0 ? c : c - b * b / under;
  double y = d[first] * d[first] - shift, z = d[first] * e[first];
  for (int64_t k = first; k < last; ++k) {
    const Rotation right(y, z);
    if (k > first) e[k - 1] = right.r;
    y = right.c * d[k] + right.s * e[k];
    e[k] = right.c * e[k] - right.s * d[k];
    z = right.s * d[k + 1];
    d[k + 1] *= right.c;
    turn(v, k + 1, k, right);
    const Rotation left(y, z);
    d[k] = left.r;
    y = left.c * e[k] + left.s * d[k + 1];
    d[k + 1] = left.c * d[k + 1] - left.s * e[k];
    if (k + 1 < last) {
      z = left.s * e[k + 1];
      e[k + 1] *= left.c;
    }
    turn(u, k + 1, k, left);
  }
  e[last - 1] = y;
}

}  // namespace

void bidiagonal_qr(double* d, double* e, int64_t n, int extra, const View& u, const View& v) {
  if (n == 0) return;
  if (extra == 1) {
    const double fill = e[n - 1];
    e[n - 1] = 0;
    chase_column(d, e, 0, n - 1, n, fill, v);
  }
  constexpr double eps = std::numeric_limits<double>::epsilon();
  // Rows that the reduction left near zero, noise of noise, are scaled too: their squares would all underflow.
  const View diagonal{d, n, 1, n}, above{e, n - 1, 1, n};
  const double largest = std::max(largest_of(diagonal), largest_of(above));
  const int exponent = exponent_of(largest);
  const double size = std::scalbn(largest, -exponent);
  scale(diagonal, -exponent);
  scale(above, -exponent);
  int64_t steps = 0;
  for (int64_t last = n - 1; last > 0;) {
    require(++steps <= 100 * n, "svd: QR iteration of a bidiagonal matrix of {} rows did not converge", n);
    int64_t first = last;
    for (; first > 0; --first) {
      double& between = e[first - 1];
      if (std::abs(between) <= eps * (std::abs(d[first - 1]) + std::abs(d[first]))) between = 0;
      if (between == 0) break;
    }
    if (first == last) {
      --last;
      continue;
    }
    const double* const zero =
        std::find_if(d + first, d + last + 1, [&](double x) { return std::abs(x) <= eps * size; });
    if (zero == d + last) {
      d[last] = 0;
      const double fill = e[last - 1];
      e[last - 1] = 0;
      chase_column(d, e, first, last - 1, last, fill, v);
    } else if (zero < d + last) {
      d[zero - d] = 0;
      chase_row(d, e, zero - d, last, u);
    } else {
      step(d, e, first, last, u, v);
    }
  }
  for (int64_t j = 0; j < n; ++j) {
    if (d[j] >= 0) continue;
    d[j] = -d[j];
    if (v.rows > 0) negate(v.block(0, j, v.rows, 1));
  }
  scale(diagonal, exponent);
}

}  // namespace headroom::engine::linalg
