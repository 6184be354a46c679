#include "engine/linalg/householder.h"

#include <algorithm>
#include <cmath>

#include "engine/linalg/vectors_kernel.h"

namespace headroom::engine::linalg {
namespace {

/// Reflectors applied at once, for a matrix with this many rows: a short column's T costs as much as what it saves.
int64_t reflector_columns(int64_t rows) { return rows <= 256 ? 16 : 32; }

/// Factors the columns of a panel one after the other.
void factor_panel(const View& a, double* tau) {
  std::vector<double> w(static_cast<size_t>(a.columns));
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    const int64_t m = a.rows - j, n = a.columns - j - 1;
    double* const x = a.column(j) + j;
    tau[j] = make_reflector(m, x);
    if (n == 0 || tau[j] == 0) continue;
    const double beta = x[0];
    x[0] = 1;
    kernel::transposed_times(m, n, x + a.step, a.step, x, w.data());
    for (int64_t i = 0; i < n; ++i) w[static_cast<size_t>(i)] *= -tau[j];
    kernel::add_outer(m, n, x, w.data(), x + a.step, a.step);
    x[0] = beta;
  }
}

}  // namespace

double norm(int64_t n, const double* x) {
  const double squares = kernel::dot(n, x, x);
  if (squares > 1e-280 && squares < 1e280) return std::sqrt(squares);
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  if (largest == 0) return 0;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (x[i] / largest) * (x[i] / largest);
  return largest * std::sqrt(sum);
}

double make_reflector(int64_t n, double* x) {
  if (n <= 1) return 0;
  const double tail = norm(n - 1, x + 1);
  if (tail == 0) return 0;
  if (std::hypot(x[0], tail) < 0x1p-960) {  // subnormal numbers have too few digits for tau and v to fit together
    for (int64_t i = 0; i < n; ++i) x[i] *= 0x1p+960;
    const double tau = make_reflector(n, x);
    x[0] *= 0x1p-960;
    return tau;
  }
  const double beta = -std::copysign(std::hypot(x[0], tail), x[0]), below = x[0] - beta;
  for (int64_t i = 1; i < n; ++i) x[i] /= below;
  x[0] = beta;
  return -below / beta;
}

Reflectors reflectors_of(const View& a, const double* tau) {
  const int64_t m = a.rows, k = a.columns;
  Reflectors out{Dense(m, k), Dense(k, k)};
  for (int64_t j = 0; j < k; ++j) {
    out.v(j, j) = 1;
    std::copy(a.column(j) + j + 1, a.column(j) + m, out.v.view().column(j) + j + 1);
  }
  Dense gram = product_of({out.v.view(), out.v.view(), true, false});
  for (int64_t j = 0; j < k; ++j) {
    out.t(j, j) = tau[j];
    for (int64_t i = 0; i < j; ++i) {
      double sum = 0;
      for (int64_t p = i; p < j; ++p) sum += out.t(i, p) * gram(p, j);
      out.t(i, j) = -tau[j] * sum;
    }
  }
  return out;
}

void apply(const Reflectors& h, const View& c, bool transpose) {
  if (c.columns == 0) return;
  const Dense w = product_of({h.v.view(), c, true, false});               // (k, n)
  const Dense tw = product_of({h.t.view(), w.view(), transpose, false});  // (k, n)
  negate(tw.view());
  multiply({h.v.view(), tw.view()}, c, true);
}

std::vector<double> factor_qr(const View& a) {
  const int64_t k = std::min(a.rows, a.columns), block = reflector_columns(a.rows);
  std::vector<double> tau(static_cast<size_t>(k));
  for (int64_t j = 0; j < k; j += block) {
    const int64_t n = std::min(block, k - j), rest = a.columns - j - n;
    const View panel = a.block(j, j, a.rows - j, n);
    factor_panel(panel, tau.data() + j);
    if (rest > 0) apply(reflectors_of(panel, tau.data() + j), a.block(j, j + n, a.rows - j, rest), true);
  }
  return tau;
}

Dense form_q(const View& factored, const std::vector<double>& tau, int64_t columns) {
  Dense q = Dense::identity(factored.rows, columns);
  const int64_t k = std::ssize(tau), block = reflector_columns(factored.rows);
  for (int64_t j = (k - 1) / block * block; j >= 0 && k > 0; j -= block) {
    const int64_t n = std::min(block, k - j), rows = factored.rows - j;
    apply(reflectors_of(factored.block(j, j, rows, n), tau.data() + j), q.block(j, j, rows, columns - j), false);
  }
  return q;
}

void apply_q(const View& factored, const std::vector<double>& tau, const View& c, bool transpose) {
  // Many reflectors: fewer passes over c. Up to 576, results that were published keep their bits.
  const int64_t k = std::ssize(tau), block = k > 576 ? 64 : reflector_columns(factored.rows),
                blocks = (k + block - 1) / block;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t j = (transpose ? b : blocks - 1 - b) * block, n = std::min(block, k - j);
    const int64_t rows = factored.rows - j;
    apply(reflectors_of(factored.block(j, j, rows, n), tau.data() + j), c.block(j, 0, rows, c.columns), transpose);
  }
}

Dense form_r(const View& factored) {
  Dense r(std::min(factored.rows, factored.columns), factored.columns);
  for (int64_t j = 0; j < r.columns(); ++j)
    std::copy_n(factored.column(j), std::min(j + 1, r.rows()), r.view().column(j));
  return r;
}

}  // namespace headroom::engine::linalg
