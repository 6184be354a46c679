#include "engine/ops/elementwise/logical.h"

#include <algorithm>

#include "engine/elementwise/binary_walk.h"
#include "engine/error.h"

namespace headroom::engine {
namespace {

template <class F>
void run_logical(BinaryCall& call) {
  const bool *a = call.a.data<bool>(), *b = call.b.data<bool>();
  bool* y = call.y.mutable_data<bool>();
  detail::walk_binary(call.y.shape(), call.a, call.b,
                      [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t i, int64_t n) {
                        for (int64_t k = 0; k < n; ++k) y[i + k] = F()(a[ia + k * stride_a], b[ib + k * stride_b]);
                      });
}

void run_not(UnaryCall& call) {
  const bool* x = call.x.data<bool>();
  bool* y = call.y.mutable_data<bool>();
  parallel_ranges(call.x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = !x[i];
  });
}

template <class F>
BinaryOp::Rows logical_rows() {
  return {{.name = "loops", .dtypes = DType::boolean, .run = run_logical<F>, .is_reference = true}};
}

/// x's elements, contiguous, on the CPU.
Tensor truths(const char* op, const Tensor& x) {
  if (!x.defined() || x.dtype() != DType::boolean) fail("{}: x {} is not bool", op, x.str());
  return x.to(cpu).contiguous();
}

}  // namespace

BinaryOp logical_and_op{"logical_and", logical_rows<std::bit_and<bool>>()},
    logical_or_op{"logical_or", logical_rows<std::bit_or<bool>>()},
    logical_xor_op{"logical_xor", logical_rows<std::not_equal_to<bool>>()};
Op<UnaryCall> logical_not_op{"logical_not",
                             {{.name = "loops", .dtypes = DType::boolean, .run = run_not, .is_reference = true}}};

Tensor logical_and(const Tensor& a, const Tensor& b) { return binary(logical_and_op, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return binary(logical_or_op, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return binary(logical_xor_op, a, b); }

Tensor logical_not(const Tensor& x) {
  UnaryCall call{x};
  logical_not_op.check(call);
  call.y = Tensor::empty(x.shape(), DType::boolean, x.device());
  if (call.y.numel() > 0) logical_not_op.run(call);
  return call.y;
}

bool any(const Tensor& x) {
  const Tensor values = truths("any", x);
  return std::any_of(values.data<bool>(), values.data<bool>() + values.numel(), [](bool v) { return v; });
}

bool all(const Tensor& x) {
  const Tensor values = truths("all", x);
  return std::all_of(values.data<bool>(), values.data<bool>() + values.numel(), [](bool v) { return v; });
}

}  // namespace headroom::engine
