#include "engine/ops/elementwise/comparison.h"

#include "engine/cuda/launch.cuh"
#include "engine/ops/elementwise/comparisons.h"

namespace headroom::engine::cuda {
namespace {

template <class F, class T>
struct ComparisonElement {
  const T *a, *b;
  bool* y;
  Dims shape, a_strides, b_strides;
  __device__ void operator()(int64_t i) const {
    y[i] = F::f(a[offset_of(i, shape, a_strides)], b[offset_of(i, shape, b_strides)]);
  }
};

template <class F, class T>
void run(BinaryCall& c) {
  const Shape& shape = c.y.shape();
  launch("comparison", c.y.numel(),
         ComparisonElement<F, T>{c.a.data<T>(), c.b.data<T>(), c.y.mutable_data<bool>(), Dims(shape),
                                 Dims(c.a.expand(shape).strides()), Dims(c.b.expand(shape).strides())});
}

template <class F, class T>
Implementation<BinaryCall> row() {
  return {.name = "element by element",
          .dtypes = dtype_of<T>(),
          .run = run<F, T>,
          .takes_strided = true,
          .device = Device::Kind::cuda};
}

}  // namespace

void register_comparison() {
#define HEADROOM_ADD(NAME, FUNCTOR)      \
  NAME##_op.add(row<FUNCTOR, float>());  \
  NAME##_op.add(row<FUNCTOR, double>()); \
  NAME##_op.add(row<FUNCTOR, int64_t>());
  HEADROOM_COMPARISONS(HEADROOM_ADD)
#undef HEADROOM_ADD
}

}  // namespace headroom::engine::cuda
