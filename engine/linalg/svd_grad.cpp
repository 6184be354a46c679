#include "engine/linalg/svd_grad.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// Throws Error unless all values differ by more than rounding and, with `above_zero`, the last is above it.
void check_distinct(const std::string& name, const double* s, int64_t k, double rounding, bool above_zero) {
  const double apart = 8 * static_cast<double>(k) * rounding * s[0];
  for (int64_t i = 0; i + 1 < k; ++i)
    require(s[i] - s[i + 1] > apart,
            "{}: singular values {} and {} are {:.9g} and {:.9g}, not distinct: their vectors have no gradient", name,
            i, i + 1, s[i], s[i + 1]);
  require(
      !above_zero || s[k - 1] > apart,
      "{}: singular value {} is {:.9g}: the vectors of a zero value have no gradient in a matrix that is not square",
      name, k - 1, s[k - 1]);
}

/// The gradient's core (k, k) and remainder for one side: core += what F makes of Qᵀ·dq, rest = (I - Q·Qᵀ)·dq·S⁻¹.
struct Side {
  Dense skew;  ///< F ∘ (Qᵀdq - dqᵀQ)
  Dense rest;  ///< (m, k); empty when Q is square
};
Side side_of(const View& q, const View& dq, const double* s) {
  const int64_t k = q.columns;
  const Dense inside = product_of({q, dq, true, false});  // (k, k)
  Side out{Dense(k, k), Dense()};
  for (int64_t j = 0; j < k; ++j)
    for (int64_t i = 0; i < k; ++i)
      if (i != j) out.skew(i, j) = (inside(i, j) - inside(j, i)) / ((s[j] - s[i]) * (s[j] + s[i]));
  if (q.rows == k) return out;
  out.rest = Dense::copy_of(dq);
  const Dense part = product_of({q, inside.view()});
  for (int64_t j = 0; j < k; ++j)
    for (int64_t i = 0; i < q.rows; ++i) out.rest(i, j) = (out.rest(i, j) - part(i, j)) / s[j];
  return out;
}

}  // namespace

Tensor svd_grad(const SVD& svd, const Tensor& du, const Tensor& ds, const Tensor& dvt) {
  const Stack u = stack_of("svd_grad", "u", svd.u), vt = stack_of("svd_grad", "vt", svd.vt);
  const int64_t m = u.rows, n = vt.columns, k = u.columns;
  const Tensor s = svd.s.to(cpu).to(DType::f64).contiguous();
  const Stack left = du.defined() ? stack_of("svd_grad", "du", du) : Stack{};
  const Stack right = dvt.defined() ? stack_of("svd_grad", "dvt", dvt) : Stack{};
  const Tensor values = ds.defined() ? ds.to(cpu).to(DType::f64).contiguous() : Tensor();
  const double rounding = u.dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
  const Output da(u, m, n);
  parallel_for(k == 0 ? 0 : u.count, [&](int64_t i) {
    const double* const d = s.data<double>() + i * k;
    const Dense q = u.dense(i), v = vt.dense(i, true);
    if (du.defined() || dvt.defined()) check_distinct(name_of_matrix("svd", u, i), d, k, rounding, m != n);
    Dense core(k, k);
    if (values.defined())
      for (int64_t j = 0; j < k; ++j) core(j, j) = values.data<double>()[i * k + j];
    Dense out(m, n);
    if (du.defined()) {
      const Side side = side_of(q.view(), left.dense(i).view(), d);
      for (int64_t j = 0; j < k; ++j)
        for (int64_t p = 0; p < k; ++p) core(p, j) += side.skew(p, j) * d[j];
      if (side.rest.rows() > 0) multiply({side.rest.view(), v.view(), false, true}, out.view(), true);
    }
    if (dvt.defined()) {
      const Side side = side_of(v.view(), right.dense(i, true).view(), d);
      for (int64_t j = 0; j < k; ++j)
        for (int64_t p = 0; p < k; ++p) core(p, j) += d[p] * side.skew(p, j);
      if (side.rest.rows() > 0) multiply({q.view(), side.rest.view(), false, true}, out.view(), true);
    }
    multiply({product_of({q.view(), core.view()}).view(), v.view(), false, true}, out.view(), true);
    to_rows(out.view(), da.at(i));
  });
  return da.finish();
}

}  // namespace headroom::engine::linalg
