#include "engine/linalg/eigh.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/cholesky.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

struct Tridiagonal {
  std::vector<double> d, e;  ///< diagonal (n), below it (n); the last of e is zero
};

/// One panel of rows and columns: what is left of the matrix is A - L·Rᵀ, with columns v₀, w₀, v₁, w₁, … in L and w₀,
/// v₀, w₁, v₁, … in R (Dongarra, Hammarling & Sorensen, "Block reduction of matrices to condensed forms for eigenvalue
/// computations", 1989).
class TridiagonalPanel {
 public:
  /// Steps between two updates of what lies beyond them.
  static int64_t steps_of(int64_t n) { return n <= 256 ? 8 : 32; }

  TridiagonalPanel(const View& rest, int64_t steps)
      : a_(rest), left_(rest.rows, 2 * steps), right_(rest.rows, 2 * steps) {}

  /// Column i: its diagonal element, the one below, and the reflector's tau.
  void step(int64_t i, double& d, double& e, double& tau) {
    const int64_t m = a_.rows - i - 1, done = 2 * i;
    double* const column = a_.column(i) + i;
    std::vector<double> factors(static_cast<size_t>(done));
    for (int64_t p = 0; p < done; ++p) factors[static_cast<size_t>(p)] = -right_(i, p);
    kernel::add_times(m + 1, done, left_.view().column(0) + i, left_.rows(), factors.data(), column);
    tau = make_reflector(m, column + 1);
    d = column[0];
    e = column[1];
    double *const v = left_.view().column(done) + i + 1, *const w = right_.view().column(done) + i + 1;
    v[0] = 1;
    std::copy(column + 2, column + 1 + m, v + 1);
    // w = (I - tau/2·v·vᵀ)·tau·(A - L·Rᵀ)·v: then H·A·H = A - v·wᵀ - w·vᵀ.
    parallel_ranges(m, task_columns, [&](int64_t begin, int64_t end) {
      kernel::transposed_times(m, end - begin, a_.column(i + 1 + begin) + i + 1, a_.step, v, w + begin);
    });
    kernel::transposed_times(m, done, right_.view().column(0) + i + 1, left_.rows(), v, factors.data());
    for (double& each : factors) each = -each;
    kernel::add_times(m, done, left_.view().column(0) + i + 1, left_.rows(), factors.data(), w);
    for (int64_t p = 0; p < m; ++p) w[p] *= tau;
    kernel::axpy(m, -tau / 2 * kernel::dot(m, w, v), v, w);
    std::copy_n(w, m, left_.view().column(done + 1) + i + 1);
    std::copy_n(v, m, right_.view().column(done + 1) + i + 1);
  }

  /// Applies all steps to what lies beyond the panel.
  void update(int64_t steps) {
    const int64_t m = a_.rows - steps;
    const View r = right_.block(steps, 0, m, 2 * steps);
    negate(r);
    multiply({left_.block(steps, 0, m, 2 * steps), r, false, true}, a_.block(steps, steps, m, m), true);
  }

 private:
  static constexpr int64_t task_columns = 64;

  View a_;
  Dense left_, right_;
};

/// a = Q·T·Qᵀ: T is returned, the reflectors of Q stay below a's first subdiagonal, their taus in `tau`.
Tridiagonal tridiagonalise(const View& a, std::vector<double>& tau) {
  const int64_t n = a.rows;
  Tridiagonal out{std::vector<double>(static_cast<size_t>(n)), std::vector<double>(static_cast<size_t>(n))};
  tau.assign(static_cast<size_t>(std::max<int64_t>(0, n - 1)), 0.0);
  for (int64_t j = 0; j + 1 < n; j += TridiagonalPanel::steps_of(n)) {
    const int64_t steps = std::min(TridiagonalPanel::steps_of(n), n - 1 - j);
    TridiagonalPanel panel(a.block(j, j, n - j, n - j), steps);
    for (int64_t i = 0; i < steps; ++i) {
      const auto at = static_cast<size_t>(j + i);
      panel.step(i, out.d[at], out.e[at], tau[at]);
    }
    panel.update(steps);
  }
  if (n > 0) out.d[static_cast<size_t>(n - 1)] = a(n - 1, n - 1);
  return out;
}

/// One implicit QL step with Wilkinson's shift on rows [first, last], whose rotations are applied to columns of z.
void ql_step(Tridiagonal& t, int64_t first, int64_t last, const View& z) {
  double *const d = t.d.data(), *const e = t.e.data();
  double g = (d[first + 1] - d[first]) / (2 * e[first]), r = std::hypot(g, 1.0);
  g = d[last] - d[first] + e[first] / (g + std::copysign(r, g));
  double s = 1, c = 1, p = 0;
  for (int64_t i = last - 1; i >= first; --i) {
    const double f = s * e[i], b = c * e[i];
    e[i + 1] = r = std::hypot(f, g);
    if (r == 0) {
      d[i + 1] -= p;
      e[last] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    kernel::rotate(z.rows, c, s, z.column(i), z.column(i + 1));
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0;
}

void ql_iteration(Tridiagonal& t, const View& z) {
  const auto n = static_cast<int64_t>(t.d.size());
  const double eps = std::numeric_limits<double>::epsilon();
  // Small compared with the largest, not only with its neighbours: a matrix of low rank leaves rows of noise, then
  // noise of noise, and QL does not get through rows that keep shrinking.
  double size = 0;
  for (size_t i = 0; i < t.d.size(); ++i) size = std::max({size, std::abs(t.d[i]), std::abs(t.e[i])});
  const double small = eps / 16 * size;
  for (int64_t first = 0; first < n; ++first) {
    for (int step = 0;; ++step) {
      int64_t last = first;
      for (; last + 1 < n; ++last) {
        const auto i = static_cast<size_t>(last);
        if (std::abs(t.e[i]) <= std::max(small, eps * (std::abs(t.d[i]) + std::abs(t.d[i + 1])))) break;
      }
      if (last == first) break;
      require(step < 100, "eigh: eigenvalue {} of {} did not converge in 100 QL steps", first, n);
      ql_step(t, first, last, z);
    }
  }
}

/// The eigenvectors of t by divide and conquer, with t.d becoming the values. With a shift c that makes it diagonally
/// dominant t + c·I is Bᵀ·B, B bidiagonal, so that B = U·S·Vᵀ gives t = V·(S² - c·I)·Vᵀ; what B's decomposition rounds
/// is of the size of t's largest element's rounding.
Dense divide_and_conquer(Tridiagonal& t) {
  const size_t n = t.d.size();
  const auto beside = [&](size_t i) { return (i > 0 ? std::abs(t.e[i - 1]) : 0) + std::abs(t.e[i]); };
  double shift = -INFINITY, size = 0;
  for (size_t i = 0; i < n; ++i) {
    shift = std::max(shift, beside(i) - t.d[i]);
    size = std::max(size, beside(i) + std::abs(t.d[i]));
  }
  if (size == 0) return Dense::identity(static_cast<int64_t>(n), static_cast<int64_t>(n));
  shift += 16 * std::numeric_limits<double>::epsilon() * size;
  std::vector<double> d(n), e(n - 1);
  for (size_t i = 0; i < n; ++i) {
    const double above = i > 0 ? e[i - 1] : 0;
    d[i] = std::sqrt(t.d[i] + shift - above * above);
    if (i + 1 < n) e[i] = t.e[i] / d[i];
  }
  Factors f = bidiagonal_svd(std::move(d), std::move(e), false);
  for (size_t i = 0; i < n; ++i) t.d[i] = f.s[i] * f.s[i] - shift;
  return std::move(f.v);
}

}  // namespace

std::vector<double> factor_eigh(const View& a) {
  /// Up to here QL iteration is about as fast, and keeps the bits of results that were published.
  constexpr int64_t most_ql_rows = 256;
  const int64_t n = a.rows;
  const int exponent = exponent_of(largest_of(a));
  scale(a, -exponent);
  std::vector<double> tau;
  Tridiagonal t = tridiagonalise(a, tau);
  Dense z;
  if (n > most_ql_rows) {
    z = divide_and_conquer(t);
    apply_q(a.block(1, 0, n - 1, n - 1), tau, z.block(1, 0, n - 1, n), false);
  } else {
    z = Dense::identity(n, n);
    if (n > 1) copy(form_q(a.block(1, 0, n - 1, n - 1), tau, n - 1).view(), z.block(1, 1, n - 1, n - 1));
    ql_iteration(t, z.view());
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return t.d[static_cast<size_t>(i)] < t.d[static_cast<size_t>(j)]; });
  std::vector<double> values(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[static_cast<size_t>(j)] = std::scalbn(t.d[static_cast<size_t>(from)], exponent);
    std::copy_n(z.view().column(from), n, a.column(j));
  }
  return values;
}

Eigh eigh(const Tensor& a) {
  const Stack stack = square_stack_of("eigh", "a", a);
  const Output values(stack, stack.rows), vectors(stack, stack.rows, stack.rows);
  parallel_for(stack.count, [&](int64_t i) {
    check_symmetric("eigh", stack, i);
    const Dense x = stack.dense(i), mirror = stack.dense(i, true);
    for (int64_t j = 0; j < stack.rows; ++j)
      for (int64_t r = 0; r < stack.rows; ++r) x.view()(r, j) = 0.5 * x(r, j) + 0.5 * mirror(r, j);
    const std::vector<double> d = factor_eigh(x.view());
    std::copy(d.begin(), d.end(), values.at(i));
    to_rows(x.view(), vectors.at(i));
  });
  return {values.finish(), vectors.finish()};
}

}  // namespace headroom::engine::linalg
