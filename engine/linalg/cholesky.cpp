#include "engine/linalg/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/linalg/triangular.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

constexpr int64_t factor_columns = 48;

/// The factor of matrix i of a stack, checked.
Dense factor_of(const char* op, const Stack& stack, int64_t i) {
  check_symmetric(op, stack, i);
  Dense l = stack.dense(i);
  double pivot = 0;
  const int64_t failed = factor_cholesky(l.view(), &pivot);
  require(failed < 0, "{}: not positive definite: the pivot of leading minor {} of {} is {:.6g}",
          name_of_matrix(op, stack, i), failed + 1, stack.rows, pivot);
  return l;
}

}  // namespace

void check_symmetric(const char* op, const Stack& stack, int64_t i) {
  const double* const x = stack.at(i);
  const int64_t n = stack.rows;
  double largest = 0;
  for (int64_t e = 0; e < n * n; ++e) largest = std::max(largest, std::abs(x[e]));
  const double allowed = largest * (stack.dtype == DType::f32 ? 1e-5 : 1e-10);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < r; ++c)
      require(std::abs(x[r * n + c] - x[c * n + r]) <= allowed,
              "{}: not symmetric: a[{}, {}] = {:.9g}, a[{}, {}] = {:.9g}", name_of_matrix(op, stack, i), r, c,
              x[r * n + c], c, r, x[c * n + r]);
}

int64_t factor_cholesky(const View& a, double* pivot) {
  const int64_t n = a.rows;
  std::vector<double> diagonal(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) diagonal[static_cast<size_t>(j)] = a(j, j);
  for (int64_t j0 = 0; j0 < n; j0 += factor_columns) {
    const int64_t size = std::min(factor_columns, n - j0), below = n - j0 - size;
    for (int64_t j = j0; j < j0 + size; ++j) {
      for (int64_t p = j0; p < j; ++p) kernel::axpy(n - j, -a(j, p), a.column(p) + j, a.column(j) + j);
      // A singular matrix leaves rounding noise of the diagonal element's size.
      const double noise = static_cast<double>(j + 1) * std::numeric_limits<double>::epsilon();
      if (!(a(j, j) > noise * diagonal[static_cast<size_t>(j)])) {
        *pivot = a(j, j);
        return j;
      }
      const double root = std::sqrt(a(j, j));
      for (int64_t i = j; i < n; ++i) a(i, j) /= root;
    }
    if (below == 0) continue;
    const View panel = a.block(j0 + size, j0, below, size);
    const Dense minus = Dense::copy_of(panel);
    negate(minus.view());
    // Only the lower half counts: strips of columns from their diagonal down.
    constexpr int64_t strip = 256;
    for (int64_t j = 0; j < below; j += strip) {
      const int64_t columns = std::min(strip, below - j);
      multiply({minus.block(j, 0, below - j, size), panel.block(j, 0, columns, size), false, true},
               a.block(j0 + size + j, j0 + size + j, below - j, columns), true);
    }
  }
  for (int64_t j = 0; j < n; ++j) std::fill(a.column(j), a.column(j) + j, 0.0);
  return -1;
}

Tensor cholesky(const Tensor& a) {
  const Stack stack = square_stack_of("cholesky", "a", a);
  const Output l(stack, stack.rows, stack.rows);
  parallel_for(stack.count, [&](int64_t i) { to_rows(factor_of("cholesky", stack, i).view(), l.at(i)); });
  return l.finish();
}

Tensor solve_spd(const Tensor& a, const Tensor& b) {
  const Stack left = square_stack_of("solve_spd", "a", a), right = stack_of("solve_spd", "b", b);
  require(left.leading == right.leading && left.columns == right.rows && left.dtype == right.dtype,
          "solve_spd: a {} and b {} do not fit", a, b);
  const Output x(right, right.rows, right.columns);
  parallel_for(left.count, [&](int64_t i) {
    const Dense l = factor_of("solve_spd", left, i), solution = right.dense(i);
    solve_triangular_inplace(l.view(), solution.view(), {});
    solve_triangular_inplace(l.view(), solution.view(), {Triangle::lower, true});
    to_rows(solution.view(), x.at(i));
  });
  return x.finish();
}

}  // namespace headroom::engine::linalg
