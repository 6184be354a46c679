#include "engine/linalg/qr.h"

#include <algorithm>

#include "engine/linalg/householder.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {

QR qr(const Tensor& a) {
  const Stack stack = stack_of("qr", "a", a);
  const int64_t k = std::min(stack.rows, stack.columns);
  const Output q(stack, stack.rows, k), r(stack, k, stack.columns);
  parallel_for(stack.count, [&](int64_t i) {
    const Dense x = stack.dense(i);
    const std::vector<double> tau = factor_qr(x.view());
    to_rows(form_q(x.view(), tau, k).view(), q.at(i));
    to_rows(form_r(x.view()).view(), r.at(i));
  });
  return {q.finish(), r.finish()};
}

PivotedQR qr_pivoted(const Tensor& a) {
  const Stack stack = stack_of("qr_pivoted", "a", a);
  const int64_t k = std::min(stack.rows, stack.columns);
  const Output q(stack, stack.rows, k), r(stack, k, stack.columns);
  Shape shape = stack.leading;
  shape.push_back(stack.columns);
  const Tensor permutation = Tensor::empty(shape, DType::i64);  // (…, n)
  parallel_for(stack.count, [&](int64_t i) {
    const Dense x = stack.dense(i);
    const PivotedFactors factors = factor_qr_pivoted(x.view());
    to_rows(form_q(x.view(), factors.tau, k).view(), q.at(i));
    to_rows(form_r(x.view()).view(), r.at(i));
    std::copy(factors.permutation.begin(), factors.permutation.end(),
              permutation.mutable_data<int64_t>() + i * stack.columns);
  });
  return {q.finish(), r.finish(), permutation};
}

}  // namespace headroom::engine::linalg
