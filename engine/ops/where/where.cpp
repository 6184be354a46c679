#include "engine/ops/where/where.h"

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/where/where_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t grain = 1 << 14;

template <class T>
void where_loop(const bool* condition, const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i * stride_a] : b[i * stride_b];
}

/// One element as it is (stride 0), anything else at the full shape (stride 1).
struct Operand {
  Tensor values;
  int64_t stride;
  Operand(const Tensor& x, const Shape& shape)
      : values(x.numel() == 1 ? x : x.expand(shape).contiguous()), stride(x.numel() == 1 ? 0 : 1) {}
};

}  // namespace

Tensor where(const Tensor& condition_in, const Tensor& a_in, const Tensor& b_in) {
  check_floating("where", {&a_in, &b_in});
  require(condition_in.dtype() == DType::boolean, "where: condition {} is not bool", condition_in.str());
  const Shape shape = broadcast("where", condition_in.shape(), broadcast("where", a_in.shape(), b_in.shape()));
  Tensor y = Tensor::empty(shape, a_in.dtype());
  if (y.numel() == 0) return y;
  const Tensor condition = condition_in.expand(shape).contiguous();
  const Operand a(a_in, shape), b(b_in, shape);
  visit_real("where", a_in, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(y.numel(), grain, [&](int64_t begin, int64_t end) {
      const bool* c = condition.data<bool>() + begin;
      const T *pa = a.values.data<T>() + begin * a.stride, *pb = b.values.data<T>() + begin * b.stride;
      T* to = y.mutable_data<T>() + begin;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::where_run(c, pa, a.stride, pb, b.stride, to, end - begin);
      where_loop(c, pa, a.stride, pb, b.stride, to, end - begin);
    });
  });
  return y;
}

}  // namespace headroom::engine
