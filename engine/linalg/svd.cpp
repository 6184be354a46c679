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

/// a·bᵀ = Q_a·core·Q_bᵀ for the matrices of two stacks that fit.
struct ProductStacks {
  Stack left, right;
  int64_t m, n, r, k;

  ProductStacks(const char* op, const Tensor& a, const Tensor& b)
      : left(stack_of(op, "a", a)),
        right(stack_of(op, "b", b)),
        m(left.rows),
        n(right.rows),
        r(left.columns),
        k(std::min({m, n, r})) {
    require(left.leading == right.leading && left.columns == right.columns && left.dtype == right.dtype,
            "{}: a {} and b {} do not fit", op, a, b);
  }
};
struct ProductCore {
  Dense x, y;  ///< factored: reflectors of Q_a and Q_b
  std::vector<double> tau_x, tau_y;
  Dense core;  ///< R_a·R_bᵀ (min(m, r), min(n, r))

  ProductCore(const ProductStacks& of, int64_t i)
      : x(of.left.dense(i)), y(of.right.dense(i)), tau_x(factor_qr(x.view())), tau_y(factor_qr(y.view())) {
    core = product_of({form_r(x.view()).view(), form_r(y.view()).view(), false, true});
  }
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

std::vector<double> factor_values(const View& a, SvdMethod method) {
  const auto values = method == SvdMethod::fast ? fast_values : jacobi_values;
  return a.rows >= a.columns ? values(a) : values(Dense::copy_of(a, true).view());
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

Tensor singular_values(const Tensor& a, SvdMethod method) {
  const Stack stack = stack_of("singular_values", "a", a);
  const Output out(stack, std::min(stack.rows, stack.columns));
  parallel_for(stack.count, [&](int64_t i) {
    const std::vector<double> s = factor_values(stack.dense(i).view(), method);
    std::copy(s.begin(), s.end(), out.at(i));
  });
  return out.finish();
}

SVD svd_of_product(const Tensor& a, const Tensor& b, SvdMethod method) {
  const ProductStacks stacks("svd_of_product", a, b);
  const Outputs out(stacks.left, stacks.m, stacks.n, stacks.k);
  parallel_for(stacks.left.count, [&](int64_t i) {
    const ProductCore product(stacks, i);
    const Factors f = factor_svd(product.core.view(), method);
    Dense u(stacks.m, stacks.k), v(stacks.n, stacks.k);
    copy(f.u.view(), u.block(0, 0, f.u.rows(), stacks.k));
    copy(f.v.view(), v.block(0, 0, f.v.rows(), stacks.k));
    apply_q(product.x.view(), product.tau_x, u.view(), false);
    apply_q(product.y.view(), product.tau_y, v.view(), false);
    out.put(i, u.view(), f.s, v.view());
  });
  return out.finish();
}

Tensor singular_values_of_product(const Tensor& a, const Tensor& b, SvdMethod method) {
  const ProductStacks stacks("singular_values_of_product", a, b);
  const Output out(stacks.left, stacks.k);
  parallel_for(stacks.left.count, [&](int64_t i) {
    const std::vector<double> s = factor_values(ProductCore(stacks, i).core.view(), method);
    std::copy(s.begin(), s.end(), out.at(i));
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
