#include <algorithm>
#include <cmath>

#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// One panel of rows and columns [first, …): what is left of the matrix is A - L·Rᵀ, with columns v₀, x₀, v₁, x₁, … in
/// L and y₀, u₀, y₁, u₁, … in R, rows counted from `first` (Dongarra, Hammarling & Sorensen, 1989).
class BidiagonalPanel {
 public:
  /// Steps between two updates of what lies beyond them: wider panels leave more to matrix products, and cost more
  /// within.
  static int64_t steps_of(int64_t n) { return n <= 256 ? 8 : 16; }

  BidiagonalPanel(const View& rest, int64_t steps)
      : a_(rest), left_(rest.rows, 2 * steps), right_(rest.columns, 2 * steps), row_(rest.columns), sums_(rest.rows) {}

  void step(int64_t i, Bidiagonal& out, int64_t j) {
    const int64_t m = a_.rows - i, n = a_.columns - i - 1;
    const View l = left_.block(i, 0, m, 2 * i), r = right_.block(i + 1, 0, n, 2 * i);
    // The column as it is now, and its reflector v.
    double* const column = a_.column(i) + i;
    const std::vector<double> factors = minus_row(right_.view(), i, 2 * i);
    kernel::add_times(m, 2 * i, l.data, l.step, factors.data(), column);
    const double tau = out.tau_q[static_cast<size_t>(j)] = make_reflector(m, column);
    out.d[static_cast<size_t>(j)] = column[0];
    double* const v = left_.view().column(2 * i) + i;
    v[0] = 1;
    std::copy(column + 1, column + m, v + 1);
    if (n == 0) return;

    // y = tau·(A - L·Rᵀ)ᵀ·v; the row is A's minus L's part minus y; sums = A·row.
    double* const y = right_.view().column(2 * i) + i + 1;
    std::vector<double> inside(static_cast<size_t>(2 * i));
    kernel::transposed_times(m, 2 * i, l.data, l.step, v, inside.data());
    for (double& each : inside) each = -each;
    const std::vector<double> across = minus_row(left_.view(), i, 2 * i);
    const int64_t tasks = (n + task_columns - 1) / task_columns;
    Dense partial;
    if (tasks > 1) partial = Dense(m - 1, tasks);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    parallel_ranges(n, task_columns, [&](int64_t begin, int64_t end) {
      double* const total = tasks > 1 ? partial.view().column(begin / task_columns) : sums_.data();
      for (int64_t c = begin; c < end; c += kept_columns) {
        const int64_t count = std::min(kept_columns, end - c);
        const double* const columns = a_.column(i + 1 + c) + i;
        kernel::transposed_times(m, count, columns, a_.step, v, y + c);
        kernel::add_times(count, 2 * i, r.data + c, r.step, inside.data(), y + c);
        double* const row = row_.data() + c;
        for (int64_t p = 0; p < count; ++p) {
          y[c + p] *= tau;
          row[p] = columns[p * a_.step] - y[c + p];
        }
        kernel::add_times(count, 2 * i, r.data + c, r.step, across.data(), row);
        kernel::add_times(m - 1, count, columns + 1, a_.step, row, total);
      }
    });
    for (int64_t t = 0; t < partial.columns(); ++t) kernel::axpy(m - 1, 1, partial.view().column(t), sums_.data());
    finish_row(i, m - 1, n, out, j);
  }

  /// Applies all steps to what lies beyond the panel.
  void update(int64_t steps) {
    const int64_t m = a_.rows - steps, n = a_.columns - steps;
    if (m <= 0 || n <= 0) return;
    const View r = right_.block(steps, 0, n, 2 * steps);
    negate(r);
    multiply({left_.block(steps, 0, m, 2 * steps), r, false, true}, a_.block(steps, steps, m, n), true);
  }

 private:
  /// Columns of one task, and of those that the cache keeps between their two uses.
  static constexpr int64_t task_columns = 128, kept_columns = 16;

  static std::vector<double> minus_row(const View& x, int64_t i, int64_t count) {
    std::vector<double> out(static_cast<size_t>(count));
    for (int64_t p = 0; p < count; ++p) out[static_cast<size_t>(p)] = -x(i, p);
    return out;
  }

  /// The row's reflector u, and x = tau·(A - L·Rᵀ)·u from A·row: row = u·below + beta·e₁ up to the reflector's scale.
  void finish_row(int64_t i, int64_t m, int64_t n, Bidiagonal& out, int64_t j) {
    const double first = row_[0];
    const double tau = out.tau_p[static_cast<size_t>(j)] = make_reflector(n, row_.data());
    const double beta = out.e[static_cast<size_t>(j)] = row_[0];
    row_[0] = 1;
    double* const u = right_.view().column(2 * i + 1) + i + 1;
    std::copy_n(row_.begin(), n, u);
    std::copy_n(row_.begin(), n, out.p.view().column(j) + j + 1);
    if (tau == 0 || m == 0) return;
    double* const x = left_.view().column(2 * i + 1) + i + 1;
    const double* const head = a_.column(i + 1) + i + 1;
    for (int64_t p = 0; p < m; ++p) x[p] = (sums_[static_cast<size_t>(p)] - beta * head[p]) / (first - beta);
    const View l = left_.block(i + 1, 0, m, 2 * i + 1), r = right_.block(i + 1, 0, n, 2 * i + 1);
    std::vector<double> inside(static_cast<size_t>(r.columns));
    kernel::transposed_times(n, r.columns, r.data, r.step, u, inside.data());
    for (double& each : inside) each = -each;
    kernel::add_times(m, l.columns, l.data, l.step, inside.data(), x);
    for (int64_t p = 0; p < m; ++p) x[p] *= tau;
  }

  View a_;
  Dense left_, right_;
  std::vector<double> row_, sums_;
};

}  // namespace

Bidiagonal bidiagonalise(const View& a) {
  const int64_t m = a.rows, n = a.columns;
  const auto size = static_cast<size_t>(n);
  Bidiagonal out{std::vector<double>(size), std::vector<double>(size), std::vector<double>(size),
                 std::vector<double>(size), Dense(n, n)};
  for (int64_t j = 0; j < n; j += BidiagonalPanel::steps_of(n)) {
    const int64_t steps = std::min(BidiagonalPanel::steps_of(n), n - j);
    BidiagonalPanel panel(a.block(j, j, m - j, n - j), steps);
    for (int64_t i = 0; i < steps; ++i) panel.step(i, out, j + i);
    panel.update(steps);
  }
  if (n > 0) {
    out.e.resize(size - 1);
    out.tau_p.resize(size - 1);
  }
  return out;
}

}  // namespace headroom::engine::linalg
