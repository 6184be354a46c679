#include "engine/linalg/jacobi.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"

namespace headroom::engine::linalg {
namespace {

/// Below this part of the largest, a diagonal element of R counts as zero: squares of columns must not underflow.
constexpr double smallest_ratio = 1e-100;

/// One cyclic sweep over all pairs of columns of x (m, n); v (n, n) takes the same rotations. The longer column of a
/// pair ends up first. Returns the number of rotations.
int64_t sweep(const View& x, const View& v, std::vector<double>& squares, double tolerance) {
  int64_t rotations = 0;
  for (int64_t p = 0; p < x.columns; ++p) {
    for (int64_t q = p + 1; q < x.columns; ++q) {
      double &dp = squares[static_cast<size_t>(p)], &dq = squares[static_cast<size_t>(q)];
      const double g = kernel::dot(x.rows, x.column(p), x.column(q));
      if (std::abs(g) <= tolerance * std::sqrt(dp) * std::sqrt(dq)) continue;
      ++rotations;
      const double zeta = (dq - dp) / (2 * g);
      const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(zeta, 1.0)), zeta);
      const double c = 1 / std::hypot(t, 1.0), s = c * t;
      if (dq > dp) {  // the same rotation, with the two columns exchanged
        kernel::rotate(x.rows, s, -c, x.column(p), x.column(q));
        kernel::rotate(v.rows, s, -c, v.column(p), v.column(q));
      } else {
        kernel::rotate(x.rows, c, s, x.column(p), x.column(q));
        kernel::rotate(v.rows, c, s, v.column(p), v.column(q));
      }
      dp = kernel::dot(x.rows, x.column(p), x.column(p));
      dq = kernel::dot(x.rows, x.column(q), x.column(q));
    }
  }
  return rotations;
}

/// Columns of x become orthogonal; returns the product of the rotations.
Dense orthogonalise(const View& x) {
  Dense v = Dense::identity(x.columns, x.columns);
  const double tolerance = std::sqrt(static_cast<double>(x.rows)) * std::numeric_limits<double>::epsilon();
  std::vector<double> squares(static_cast<size_t>(x.columns));
  for (int count = 0; count < 60; ++count) {
    for (int64_t j = 0; j < x.columns; ++j)
      squares[static_cast<size_t>(j)] = kernel::dot(x.rows, x.column(j), x.column(j));
    if (sweep(x, v.view(), squares, tolerance) == 0) return v;
  }
  fail("svd: one-sided Jacobi did not converge in 60 sweeps over a {} by {} matrix", x.rows, x.columns);
}

/// Rows by their largest element, falling: what QR with column pivoting needs to be accurate row by row (Cox & Higham,
/// "Stability of Householder QR factorization for weighted least squares problems", 1998).
std::vector<int64_t> rows_by_size(const View& a) {
  std::vector<double> largest(static_cast<size_t>(a.rows));
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      largest[static_cast<size_t>(i)] = std::max(largest[static_cast<size_t>(i)], std::abs(a(i, j)));
  std::vector<int64_t> order(static_cast<size_t>(a.rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return largest[static_cast<size_t>(i)] > largest[static_cast<size_t>(j)];
  });
  return order;
}

}  // namespace

Factors jacobi_svd(const View& a) {
  const int64_t m = a.rows, n = a.columns;
  double largest = 0;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) largest = std::max(largest, std::abs(a(i, j)));
  if (largest == 0) return {Dense::identity(m, n), std::vector<double>(static_cast<size_t>(n)), Dense::identity(n, n)};
  const int exponent = std::ilogb(largest);
  const std::vector<int64_t> order = rows_by_size(a);
  Dense sorted(m, n);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) sorted(i, j) = std::scalbn(a(order[static_cast<size_t>(i)], j), -exponent);

  // sorted·P = Q·R and R = L·Q₂ᵀ; L (r, r) has nearly orthogonal columns already.
  const PivotedFactors first = factor_qr_pivoted(sorted.view());
  const Dense full = form_r(sorted.view());
  int64_t r = 0;
  while (r < n && std::abs(full(r, r)) > smallest_ratio * std::abs(full(0, 0))) ++r;
  const Dense second = Dense::copy_of(full.block(0, 0, r, n), true);  // (n, r)
  const std::vector<double> tau = factor_qr(second.view());
  const Dense x = Dense::copy_of(form_r(second.view()).view(), true);  // (r, r)
  const Dense rotations = orthogonalise(x.view());

  std::vector<double> lengths(static_cast<size_t>(r));
  std::vector<int64_t> rank(static_cast<size_t>(r));
  for (int64_t j = 0; j < r; ++j) lengths[static_cast<size_t>(j)] = norm(r, x.view().column(j));
  std::iota(rank.begin(), rank.end(), int64_t{0});
  std::stable_sort(rank.begin(), rank.end(), [&](int64_t i, int64_t j) {
    return lengths[static_cast<size_t>(i)] > lengths[static_cast<size_t>(j)];
  });

  // U = Π·Q·[X/Σ, I], V = P·Q₂·[rotations, I]: beyond the rank, the columns of Q and Q₂ complete the bases.
  Dense u = Dense::identity(m, n), v = Dense::identity(n, n);
  std::vector<double> s(static_cast<size_t>(n));
  for (int64_t j = 0; j < r; ++j) {
    const int64_t from = rank[static_cast<size_t>(j)];
    const double length = lengths[static_cast<size_t>(from)];
    s[static_cast<size_t>(j)] = std::scalbn(length, exponent);
    for (int64_t i = 0; i < r; ++i) u(i, j) = x(i, from) / length;
    std::copy_n(rotations.view().column(from), r, v.view().column(j));
  }
  apply_q(sorted.view(), first.tau, u.view(), false);
  apply_q(second.view(), tau, v.view(), false);
  Dense left(m, n), right(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) left(order[static_cast<size_t>(i)], j) = u(i, j);
    for (int64_t i = 0; i < n; ++i) right(first.permutation[static_cast<size_t>(i)], j) = v(i, j);
  }
  return {std::move(left), std::move(s), std::move(right)};
}

}  // namespace headroom::engine::linalg
