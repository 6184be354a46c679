// QR with column pivoting in panels (Quintana-Ortí, Sun & Bischof, "A BLAS-3 version of the QR factorization with
// column pivoting", 1998): half of the work is one matrix product per panel.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// The norm of each column's remaining part: as downdated, and as last computed.
struct Norms {
  std::vector<double> left, exact;
};

/// Columns [first, first + steps): below row `first`, the rest of the matrix is A - V·Fᵀ, V the reflectors so far.
/// Only the column that is next and the rows that are done are brought up to date.
class PivotedPanel {
 public:
  /// Steps between two updates of what lies below and beyond them.
  static int64_t steps_of(int64_t rows) { return rows <= 256 ? 8 : 32; }

  PivotedPanel(const View& a, int64_t first, int64_t steps, PivotedFactors& out, Norms& norms)
      : a_(a),
        first_(first),
        f_(a.columns - first, steps),
        out_(out),
        norms_(norms),
        row_(static_cast<size_t>(f_.rows())),
        lost_(static_cast<size_t>(f_.rows())) {}

  /// Returns the steps that were done: fewer where a norm has lost its digits, and can only be recomputed when the
  /// matrix is up to date.
  int64_t run() {
    int64_t steps = 0;
    while (steps < f_.columns() && std::find(lost_.begin(), lost_.end(), 1) == lost_.end()) step(steps++);
    update(steps);
    return steps;
  }

 private:
  static constexpr int64_t task_columns = 64;

  void exchange(int64_t i, int64_t k, int64_t pivot) {
    std::swap_ranges(a_.column(k), a_.column(k) + a_.rows, a_.column(pivot));
    for (int64_t p = 0; p < i; ++p) std::swap(f_(i, p), f_(pivot - first_, p));
    for (std::vector<double>* each : {&norms_.left, &norms_.exact})
      std::swap((*each)[static_cast<size_t>(k)], (*each)[static_cast<size_t>(pivot)]);
    std::swap(out_.permutation[static_cast<size_t>(k)], out_.permutation[static_cast<size_t>(pivot)]);
  }

  void step(int64_t i) {
    const int64_t k = first_ + i, m = a_.rows - k, rest = a_.columns - k - 1;
    const int64_t pivot = std::max_element(norms_.left.begin() + k, norms_.left.end()) - norms_.left.begin();
    if (pivot != k) exchange(i, k, pivot);
    const double* const before = a_.column(first_) + k;  // the panel's reflectors from row k on
    double* const x = a_.column(k) + k;
    std::vector<double> inside(static_cast<size_t>(i)), across(static_cast<size_t>(i + 1));
    for (int64_t p = 0; p < i; ++p) inside[static_cast<size_t>(p)] = -f_(i, p);
    kernel::add_times(m, i, before, a_.step, inside.data(), x);
    const double tau = out_.tau[static_cast<size_t>(k)] = make_reflector(m, x);
    if (rest == 0) return;
    const double beta = x[0];
    x[0] = 1;
    kernel::transposed_times(m, i, before, a_.step, x, inside.data());
    for (double& each : inside) each *= -tau;
    for (int64_t p = 0; p <= i; ++p) across[static_cast<size_t>(p)] = -a_(k, first_ + p);
    // F's column tau·(A - V·Fᵀ)ᵀ·x, then row k of the matrix and the norms below it.
    parallel_ranges(rest, task_columns, [&](int64_t begin, int64_t end) {
      const int64_t count = end - begin, place = i + 1 + begin;
      double *const f = f_.view().column(i) + place, *const row = row_.data() + place;
      kernel::transposed_times(m, count, a_.column(first_ + place) + k, a_.step, x, f);
      for (int64_t c = 0; c < count; ++c) f[c] *= tau;
      kernel::add_times(count, i, f_.view().column(0) + place, f_.rows(), inside.data(), f);
      std::fill_n(row, count, 0.0);
      kernel::add_times(count, i + 1, f_.view().column(0) + place, f_.rows(), across.data(), row);
      for (int64_t c = 0; c < count; ++c) shrink(k, place + c, a_(k, first_ + place + c) += row[c]);
    });
    x[0] = beta;
  }

  /// The norm of column first + c without `element`.
  void shrink(int64_t k, int64_t c, double element) {
    double& now = norms_.left[static_cast<size_t>(first_ + c)];
    const double then = norms_.exact[static_cast<size_t>(first_ + c)];
    if (now == 0) return;
    const double part = element / now, shrunk = std::max(0.0, (1 - part) * (1 + part));
    // The downdated norm loses a digit with every factor it shrinks by since it was last computed.
    if (k + 1 < a_.rows && shrunk * (now / then) * (now / then) <= 1.5e-8) lost_[static_cast<size_t>(c)] = 1;
    else now *= std::sqrt(shrunk);
  }

  void update(int64_t steps) {
    const int64_t k = first_ + steps, m = a_.rows - k, n = a_.columns - k;
    if (m <= 0 || n <= 0) return;
    const View f = f_.block(steps, 0, n, steps);
    negate(f);
    multiply({a_.block(k, first_, m, steps), f, false, true}, a_.block(k, k, m, n), true);
    parallel_ranges(n, task_columns, [&](int64_t begin, int64_t end) {
      for (int64_t j = k + begin; j < k + end; ++j) {
        if (!lost_[static_cast<size_t>(j - first_)]) continue;
        norms_.left[static_cast<size_t>(j)] = norms_.exact[static_cast<size_t>(j)] = norm(m, a_.column(j) + k);
      }
    });
  }

  View a_;
  int64_t first_;
  Dense f_;
  PivotedFactors& out_;
  Norms& norms_;
  std::vector<double> row_;
  std::vector<uint8_t> lost_;
};

}  // namespace

PivotedFactors factor_qr_pivoted(const View& a) {
  const int64_t k = std::min(a.rows, a.columns);
  const auto n = static_cast<size_t>(a.columns);
  PivotedFactors out{std::vector<double>(static_cast<size_t>(k)), std::vector<int64_t>(n)};
  std::iota(out.permutation.begin(), out.permutation.end(), int64_t{0});
  Norms norms{std::vector<double>(n), {}};
  for (size_t j = 0; j < n; ++j) norms.left[j] = norm(a.rows, a.column(static_cast<int64_t>(j)));
  norms.exact = norms.left;
  for (int64_t j = 0; j < k;)
    j += PivotedPanel(a, j, std::min(PivotedPanel::steps_of(a.rows), k - j), out, norms).run();
  return out;
}

}  // namespace headroom::engine::linalg
