#include "engine/linalg/svd.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/jacobi.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// Room for the factors of every matrix of a stack.
struct Outputs {
  Output u, s, vt;
  Outputs(const Stack& like, int64_t m, int64_t n, int64_t k) : u(like, m, k), s(like, k), vt(like, k, n) {}
  void put(int64_t i, const View& left, const std::vector<double>& values, const View& right) const {
    to_rows(left, u.at(i));
    std::copy(values.begin(), values.end(), s.at(i));
    to_rows(right, vt.at(i), true);
  }
  SVD finish() const { return {u.finish(), s.finish(), vt.finish()}; }
};

}  // namespace

Factors factor_svd(const View& a, SvdMethod method) {
  const auto factor = method == SvdMethod::fast ? fast_svd : jacobi_svd;
  if (a.rows >= a.columns) return factor(a);
  const Dense tall = Dense::copy_of(a, true);
  Factors f = factor(tall.view());
  std::swap(f.u, f.v);
  return f;
}

SVD svd(const Tensor& a, SvdMethod method) {
  const Stack stack = stack_of("svd", "a", a);
  const Outputs out(stack, stack.rows, stack.columns, std::min(stack.rows, stack.columns));
  parallel_for(stack.count, [&](int64_t i) {
    const Factors f = factor_svd(stack.dense(i).view(), method);
    out.put(i, f.u.view(), f.s, f.v.view());
  });
  return out.finish();
}

Tensor singular_values(const Tensor& a, SvdMethod method) { return svd(a, method).s; }

SVD svd_of_product(const Tensor& a, const Tensor& b, SvdMethod method) {
  const Stack left = stack_of("svd_of_product", "a", a), right = stack_of("svd_of_product", "b", b);
  require(left.leading == right.leading && left.columns == right.columns && left.dtype == right.dtype,
          "svd_of_product: a {} and b {} do not fit", a.str(), b.str());
  const int64_t m = left.rows, n = right.rows, r = left.columns;
  const Outputs out(left, m, n, std::min({m, n, r}));
  parallel_for(left.count, [&](int64_t i) {
    const Dense x = left.dense(i), y = right.dense(i);
    const std::vector<double> tau_x = factor_qr(x.view()), tau_y = factor_qr(y.view());
    const Dense r_x = form_r(x.view()), r_y = form_r(y.view());            // (min(m, r), r), (min(n, r), r)
    const Dense core = product_of({r_x.view(), r_y.view(), false, true});  // (min(m, r), min(n, r))
    const Factors f = factor_svd(core.view(), method);
    Dense u(m, f.u.columns()), v(n, f.v.columns());
    copy(f.u.view(), u.block(0, 0, f.u.rows(), f.u.columns()));
    copy(f.v.view(), v.block(0, 0, f.v.rows(), f.v.columns()));
    apply_q(x.view(), tau_x, u.view(), false);
    apply_q(y.view(), tau_y, v.view(), false);
    out.put(i, u.view(), f.s, v.view());
  });
  return out.finish();
}

Tensor pinv(const Tensor& a, double relative_cut) {
  const Stack stack = stack_of("pinv", "a", a);
  const int64_t m = stack.rows, n = stack.columns, k = std::min(m, n);
  const double rounding = static_cast<double>(std::max(m, n)) * (stack.dtype == DType::f32 ? 0x1p-23 : 0x1p-52);
  const double cut = relative_cut >= 0 ? relative_cut : rounding;
  const Output out(stack, n, m);
  parallel_for(stack.count, [&](int64_t i) {
    const Factors f = factor_svd(stack.dense(i).view(), SvdMethod::accurate);
    int64_t r = 0;
    while (r < k && f.s[static_cast<size_t>(r)] > cut * f.s[0]) ++r;
    for (int64_t j = 0; j < r; ++j)
      for (int64_t p = 0; p < n; ++p) f.v.view()(p, j) /= f.s[static_cast<size_t>(j)];
    to_rows(product_of({f.v.block(0, 0, n, r), f.u.block(0, 0, m, r), false, true}).view(), out.at(i));
  });
  return out.finish();
}

}  // namespace headroom::engine::linalg
