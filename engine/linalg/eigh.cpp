#include "engine/linalg/eigh.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/cholesky.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

struct Tridiagonal {
  std::vector<double> d, e;  ///< diagonal (n), below it (n); the last of e is zero
};

/// a = Q·T·Qᵀ: T is returned, the reflectors of Q stay below a's first subdiagonal, their taus in `tau`.
Tridiagonal tridiagonalise(const View& a, std::vector<double>& tau) {
  const int64_t n = a.rows;
  Tridiagonal out{std::vector<double>(static_cast<size_t>(n)), std::vector<double>(static_cast<size_t>(n))};
  std::vector<double> w(static_cast<size_t>(n));
  tau.assign(static_cast<size_t>(std::max<int64_t>(0, n - 1)), 0.0);
  for (int64_t j = 0; j + 1 < n; ++j) {
    const int64_t m = n - j - 1;
    double* const x = a.column(j) + j + 1;
    const double t = tau[static_cast<size_t>(j)] = make_reflector(m, x);
    out.d[static_cast<size_t>(j)] = a(j, j);
    const double beta = out.e[static_cast<size_t>(j)] = x[0];
    if (t == 0) continue;
    x[0] = 1;
    const View rest = a.block(j + 1, j + 1, m, m);
    kernel::transposed_times(m, m, rest.data, rest.step, x, w.data());
    const double half = t / 2 * t * kernel::dot(m, w.data(), x);
    for (int64_t i = 0; i < m; ++i) w[static_cast<size_t>(i)] = half * x[i] - t * w[static_cast<size_t>(i)];
    kernel::add_outer(m, m, x, w.data(), rest.data, rest.step);
    kernel::add_outer(m, m, w.data(), x, rest.data, rest.step);
    x[0] = beta;
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
  for (int64_t first = 0; first < n; ++first) {
    for (int step = 0;; ++step) {
      int64_t last = first;
      for (; last + 1 < n; ++last) {
        const auto i = static_cast<size_t>(last);
        if (std::abs(t.e[i]) <= eps * (std::abs(t.d[i]) + std::abs(t.d[i + 1]))) break;
      }
      if (last == first) break;
      require(step < 100, "eigh: eigenvalue {} of {} did not converge in 100 QL steps", first, n);
      ql_step(t, first, last, z);
    }
  }
}

}  // namespace

std::vector<double> factor_eigh(const View& a) {
  const int64_t n = a.rows;
  const int exponent = exponent_of(largest_of(a));
  scale(a, -exponent);
  std::vector<double> tau;
  Tridiagonal t = tridiagonalise(a, tau);
  const Dense z = Dense::identity(n, n);
  if (n > 1) copy(form_q(a.block(1, 0, n - 1, n - 1), tau, n - 1).view(), z.block(1, 1, n - 1, n - 1));
  ql_iteration(t, z.view());
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
