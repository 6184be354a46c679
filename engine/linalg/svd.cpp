#include "engine/linalg/svd.h"

#include <algorithm>

#include "engine/linalg/jacobi.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {

SVD svd(const Tensor& a, SvdMethod) {
  const Stack stack = stack_of("svd", "a", a);
  const int64_t m = stack.rows, n = stack.columns, k = std::min(m, n);
  const Output u(stack, m, k), s(stack, k), vt(stack, k, n);
  parallel_for(stack.count, [&](int64_t i) {
    const bool wide = m < n;
    const Dense x = stack.dense(i, wide);
    const Factors f = jacobi_svd(x.view());
    to_rows((wide ? f.v : f.u).view(), u.at(i));
    to_rows((wide ? f.u : f.v).view(), vt.at(i), true);
    std::copy(f.s.begin(), f.s.end(), s.at(i));
  });
  return {u.finish(), s.finish(), vt.finish()};
}

Tensor singular_values(const Tensor& a, SvdMethod method) { return svd(a, method).s; }

}  // namespace headroom::engine::linalg
