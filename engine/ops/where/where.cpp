#include "engine/ops/where/where.h"

#include "engine/ops/where/where_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
void where_loop(const bool* condition, const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i * stride_a] : b[i * stride_b];
}

/// One element as it is, anything else at the full shape.
Tensor spread(const Tensor& x, const Shape& shape) { return x.numel() == 1 ? x : x.expand(shape); }

template <class T>
void run(WhereCall& c, void (*loop)(const bool*, const T* a, int64_t, const T* b, int64_t, T* y, int64_t n)) {
  const bool* condition = c.condition.data<bool>();
  const T *a = c.a.data<T>(), *b = c.b.data<T>();
  const int64_t stride_a = c.a.numel() == 1 ? 0 : 1, stride_b = c.b.numel() == 1 ? 0 : 1;
  T* y = c.y.mutable_data<T>();
  parallel_ranges(c.y.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
    loop(condition + begin, a + begin * stride_a, stride_a, b + begin * stride_b, stride_b, y + begin, end - begin);
  });
}

}  // namespace

Op<WhereCall> where_op{
    "where", kernel_and_loops<WhereCall>(
                 kernel::where_run.levels(), [](WhereCall& c) { run<float>(c, kernel::where_run.best()); },
                 [](WhereCall& c) { run<float>(c, where_loop); }, [](WhereCall& c) { run<double>(c, where_loop); },
                 [](WhereCall& c) { run<bf16>(c, where_loop); })};

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  WhereCall call{condition, a, b};
  where_op.check(call);
  const Shape shape = broadcast("where", condition.shape(), broadcast("where", a.shape(), b.shape()));
  call.y = Tensor::empty(shape, a.dtype(), a.device());
  if (call.y.numel() == 0) return call.y;
  call.condition = condition.expand(shape);
  call.a = spread(a, shape);
  call.b = spread(b, shape);
  where_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
