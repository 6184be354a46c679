#include "engine/linalg/triangular.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

constexpr int64_t block_rows = 64;

/// One diagonal block, column by column of b.
void solve_block(const View& a, const View& b, const TriangularOptions& options) {
  const int64_t n = a.rows;
  const bool forward = (options.triangle == Triangle::lower) != options.transpose;
  parallel_for(b.columns, 32, [&](int64_t c) {
    double* const x = b.column(c);
    for (int64_t step = 0; step < n; ++step) {
      const int64_t j = forward ? step : n - 1 - step;
      // Elements of column j that meet unknowns: solved ones when transposed, open ones otherwise.
      const int64_t first = options.triangle == Triangle::lower ? j + 1 : 0;
      const int64_t count = options.triangle == Triangle::lower ? n - j - 1 : j;
      if (options.transpose) x[j] -= kernel::dot(count, a.column(j) + first, x + first);
      if (!options.unit_diagonal) x[j] /= a(j, j);
      if (!options.transpose) kernel::axpy(count, -x[j], a.column(j) + first, x + first);
    }
  });
}

}  // namespace

void solve_triangular_inplace(const View& a, const View& b, const TriangularOptions& options) {
  const int64_t n = a.rows, blocks = (n + block_rows - 1) / block_rows;
  const bool lower = options.triangle == Triangle::lower, forward = lower != options.transpose;
  for (int64_t step = 0; step < blocks; ++step) {
    const int64_t j = (forward ? step : blocks - 1 - step) * block_rows, size = std::min(block_rows, n - j);
    const View x = b.block(j, 0, size, b.columns);
    solve_block(a.block(j, j, size, size), x, options);
    // Subtract the solved block's part from the unsolved rest.
    const int64_t begin = forward ? j + size : 0, count = forward ? n - j - size : j;
    if (count == 0) continue;
    const View part = options.transpose ? a.block(j, begin, size, count) : a.block(begin, j, count, size);
    const Dense minus = Dense::copy_of(x);
    negate(minus.view());
    multiply({part, minus.view(), options.transpose, false}, b.block(begin, 0, count, b.columns), true);
  }
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  const Stack left = square_stack_of("solve_triangular", "a", a), right = stack_of("solve_triangular", "b", b);
  require(left.leading == right.leading && left.columns == right.rows && left.dtype == right.dtype,
          "solve_triangular: a {} and b {} do not fit", a, b);
  if (!options.unit_diagonal)
    for (int64_t i = 0; i < left.count; ++i)
      for (int64_t j = 0; j < left.rows; ++j)
        require(left.at(i)[j * (left.rows + 1)] != 0, "{}: a is singular: its diagonal is 0 at {}",
                name_of_matrix("solve_triangular", left, i), j);
  const Output x(right, right.rows, right.columns);
  parallel_for(left.count, [&](int64_t i) {
    const Dense solution = right.dense(i), matrix = left.dense(i);
    solve_triangular_inplace(matrix.view(), solution.view(), options);
    to_rows(solution.view(), x.at(i));
  });
  return x.finish();
}

}  // namespace headroom::engine::linalg
