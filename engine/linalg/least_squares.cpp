#include "engine/linalg/least_squares.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/triangular.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// Both arguments, whose shapes must fit.
std::pair<Stack, Stack> operands(const char* op, const Tensor& a, const Tensor& b) {
  std::pair<Stack, Stack> out{stack_of(op, "a", a), stack_of(op, "b", b)};
  require(out.first.leading == out.second.leading && out.first.rows == out.second.rows && a.dtype() == b.dtype(),
          "{}: a {} and b {} do not fit", op, a, b);
  return out;
}

/// `a` and `b` are overwritten.
Dense solve(const View& a, const View& b, double cut) {
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  const PivotedFactors f = factor_qr_pivoted(a);
  int64_t r = 0;
  while (r < k && a(r, r) != 0 && std::abs(a(r, r)) > cut * std::abs(a(0, 0))) ++r;
  apply_q(a, f.tau, b, true);
  Dense y(n, b.columns);
  copy(b.block(0, 0, r, b.columns), y.block(0, 0, r, b.columns));
  const View solved = y.block(0, 0, r, b.columns);
  if (r == n) {
    solve_triangular_inplace(a.block(0, 0, n, n), solved, {Triangle::upper});
  } else if (r > 0) {
    const Dense wide = form_r(a);
    const Dense tall = Dense::copy_of(wide.block(0, 0, r, n), true);  // R = Sᵀ·Zᵀ with tall = Z·S
    const std::vector<double> tau = factor_qr(tall.view());
    solve_triangular_inplace(tall.block(0, 0, r, r), solved, {Triangle::upper, true});
    apply_q(tall.view(), tau, y.view(), false);
  }
  Dense x(n, b.columns);
  for (int64_t j = 0; j < b.columns; ++j)
    for (int64_t i = 0; i < n; ++i) x(f.permutation[static_cast<size_t>(i)], j) = y(i, j);
  return x;
}

double cut_of(const Stack& a, double asked) {
  if (asked >= 0) return asked;
  return static_cast<double>(std::max(a.rows, a.columns)) * (a.dtype == DType::f32 ? 0x1p-23 : 0x1p-52);
}

/// The columns of `a` that `free` names.
Dense chosen(const View& a, const std::vector<int64_t>& free) {
  Dense out(a.rows, static_cast<int64_t>(free.size()));
  for (size_t j = 0; j < free.size(); ++j)
    std::copy_n(a.column(free[j]), a.rows, out.view().column(static_cast<int64_t>(j)));
  return out;
}

/// One right-hand side of nnls.
std::vector<double> nonnegative(const View& a, const double* b) {
  const int64_t m = a.rows, n = a.columns;
  std::vector<double> x(static_cast<size_t>(n)), residual(b, b + m), slope(static_cast<size_t>(n));
  std::vector<int64_t> free;    // columns whose x may be above zero
  std::vector<int64_t> barred;  // columns that rounding alone would let in, until x changes
  double scale = 0;
  for (int64_t j = 0; j < n; ++j) scale = std::max(scale, norm(m, a.column(j)));
  const double threshold = 10 * static_cast<double>(std::max(m, n)) * 0x1p-52 * scale * norm(m, b);
  for (int64_t change = 0; change <= 30 * std::max<int64_t>(n, 1); ++change) {
    kernel::transposed_times(m, n, a.data, a.step, residual.data(), slope.data());
    for (const std::vector<int64_t>* each : {&free, &barred})
      for (int64_t j : *each) slope[static_cast<size_t>(j)] = 0;
    const auto steepest = std::max_element(slope.begin(), slope.end());
    if (steepest == slope.end() || *steepest <= threshold) return x;
    free.push_back(steepest - slope.begin());
    for (bool is_new = true;; is_new = false) {
      const Dense part = chosen(a, free);
      Dense right(m, 1);
      std::copy_n(b, m, right.view().data);
      const Dense z = solve(part.view(), right.view(), static_cast<double>(std::max(m, n)) * 0x1p-52);
      if (is_new && z(static_cast<int64_t>(free.size()) - 1, 0) <= 0) {
        barred.push_back(free.back());
        free.pop_back();
        break;
      }
      barred.clear();
      // As far towards z as all stay at or above zero; what arrives there is fixed at zero.
      double step = 1;
      for (size_t i = 0; i < free.size(); ++i) {
        const double now = x[static_cast<size_t>(free[i])], wanted = z(static_cast<int64_t>(i), 0);
        if (wanted <= 0) step = std::min(step, now > 0 ? now / (now - wanted) : 0.0);
      }
      std::vector<int64_t> kept;
      for (size_t i = 0; i < free.size(); ++i) {
        double& now = x[static_cast<size_t>(free[i])];
        const double wanted = z(static_cast<int64_t>(i), 0);
        const bool blocks = wanted <= 0 && (now > 0 ? now / (now - wanted) : 0.0) <= step;
        now = blocks ? 0 : now + step * (wanted - now);
        if (!blocks) kept.push_back(free[i]);
      }
      const bool done = kept.size() == free.size();
      free = kept;
      if (done || free.empty()) break;
    }
    std::copy_n(b, m, residual.begin());
    for (int64_t j : free) kernel::axpy(m, -x[static_cast<size_t>(j)], a.column(j), residual.data());
  }
  fail("nnls: the active set of a {} by {} problem did not settle in {} changes", m, n, 30 * n);
}

}  // namespace

Tensor least_squares(const Tensor& a, const Tensor& b, double relative_cut) {
  const auto [left, right] = operands("least_squares", a, b);
  const Stack &lhs = left, &rhs = right;
  const Output x(lhs, lhs.columns, rhs.columns);
  parallel_for(lhs.count, [&](int64_t i) {
    const Dense matrix = lhs.dense(i), values = rhs.dense(i);
    to_rows(solve(matrix.view(), values.view(), cut_of(lhs, relative_cut)).view(), x.at(i));
  });
  return x.finish();
}

Tensor nnls(const Tensor& a, const Tensor& b) {
  const auto [left, right] = operands("nnls", a, b);
  const Stack &lhs = left, &rhs = right;
  const Output x(lhs, lhs.columns, rhs.columns);
  parallel_for(lhs.count, [&](int64_t i) {
    const Dense matrix = lhs.dense(i), values = rhs.dense(i), out(lhs.columns, rhs.columns);
    for (int64_t j = 0; j < rhs.columns; ++j) {
      const std::vector<double> column = nonnegative(matrix.view(), values.view().column(j));
      std::copy(column.begin(), column.end(), out.view().column(j));
    }
    to_rows(out.view(), x.at(i));
  });
  return x.finish();
}

}  // namespace headroom::engine::linalg
