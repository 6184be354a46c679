#include "engine/linalg/svd_truncated.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/linalg/householder.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

constexpr int64_t probe_count = 10;

/// An orthonormal basis of the columns of x, which is overwritten.
Dense basis_of(const View& x) {
  const std::vector<double> tau = factor_qr(x);
  return form_q(x, tau, std::min(x.rows, x.columns));
}

void subtract(const View& from, const View& x) {
  for (int64_t j = 0; j < x.columns; ++j)
    for (int64_t i = 0; i < x.rows; ++i) from(i, j) -= x(i, j);
}

double frobenius(const View& x) {
  std::vector<double> norms(static_cast<size_t>(x.columns));
  for (int64_t j = 0; j < x.columns; ++j) norms[static_cast<size_t>(j)] = norm(x.rows, x.column(j));
  return norm(x.columns, norms.data());
}

/// u · diag(s) · vᵀ of the first `rank` triples.
Dense rebuilt(const Factors& f, int64_t rank) {
  const Dense scaled = Dense::copy_of(f.u.block(0, 0, f.u.rows(), rank));
  for (int64_t j = 0; j < rank; ++j)
    for (int64_t i = 0; i < scaled.rows(); ++i) scaled.view()(i, j) *= f.s[static_cast<size_t>(j)];
  return product_of({scaled.view(), f.v.block(0, 0, f.v.rows(), rank), false, true});
}

}  // namespace

TruncatedSVD svd_truncated(const Tensor& a, int64_t rank, const TruncatedOptions& options) {
  const Stack stack = stack_of("svd_truncated", "a", a);
  const int64_t m = stack.rows, n = stack.columns, k = std::min(m, n);
  require(rank >= 1 && rank <= k, "svd_truncated: rank {}: expected 1 to {} for a {}", rank, k, a);
  require(options.oversampling >= 0 && options.power_iterations >= 0,
          "svd_truncated: oversampling is {} and power_iterations {}: neither may be negative", options.oversampling,
          options.power_iterations);
  const int64_t width = std::min(k, rank + options.oversampling), columns = width + probe_count;
  const std::vector<double> normal =
      random_normal({columns * n + columns * n % 2}, 0, 1, options.key, DType::f64).to_vector<double>();
  const Output u(stack, m, rank), s(stack, rank), vt(stack, rank, n), frobenius_error(stack, 1),
      spectral_error(stack, 1);
  parallel_for(stack.count, [&](int64_t i) {
    const Dense x = stack.dense(i), random = Dense::from_rows(normal.data(), columns, n, true);  // (m, n), (n, columns)
    Factors f;
    double missed = 0;  // bound on what the sketch misses
    if (width == k) {
      f = factor_svd(Dense::copy_of(x.view()).view(), SvdMethod::accurate);
    } else {
      Dense q = basis_of(product_of({x.view(), random.block(0, 0, n, width)}).view());  // (m, width)
      for (int64_t pass = 0; pass < options.power_iterations; ++pass) {
        const Dense other = basis_of(product_of({x.view(), q.view(), true, false}).view());  // (n, width)
        q = basis_of(product_of({x.view(), other.view()}).view());
      }
      f = factor_svd(product_of({q.view(), x.view(), true, false}).view(), SvdMethod::accurate);
      const Dense probes = product_of({x.view(), random.block(0, width, n, probe_count)});  // (m, probes)
      const Dense inside = product_of({q.view(), probes.view(), true, false});              // (width, probes)
      subtract(probes.view(), product_of({q.view(), inside.view()}).view());
      for (int64_t j = 0; j < probe_count; ++j) missed = std::max(missed, norm(m, probes.view().column(j)));
      missed *= 10 * std::sqrt(2 / 3.14159265358979323846);
      f.u = product_of({q.view(), f.u.view()});
    }
    subtract(x.view(), rebuilt(f, rank).view());
    *frobenius_error.at(i) = frobenius(x.view());
    *spectral_error.at(i) = missed + (rank < width ? f.s[static_cast<size_t>(rank)] : 0.0);
    to_rows(f.u.block(0, 0, m, rank), u.at(i));
    std::copy_n(f.s.begin(), rank, s.at(i));
    to_rows(f.v.block(0, 0, n, rank), vt.at(i), true);
  });
  return {{u.finish(), s.finish(), vt.finish()},
          frobenius_error.finish().reshape(stack.leading),
          spectral_error.finish().reshape(stack.leading)};
}

}  // namespace headroom::engine::linalg
