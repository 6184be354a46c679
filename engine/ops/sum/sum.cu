#include "engine/cuda/launch.cuh"
#include "engine/ops/sum/sum.h"

namespace headroom::engine::cuda {
namespace {

/// One result: its terms from the first to the last.
template <class T>
struct SumElement {
  const T* x;
  T* y;
  int64_t reduced, inner;
  __device__ void operator()(int64_t i) const {
    const T* from = x + i / inner * reduced * inner + i % inner;
    T total = 0;
    for (int64_t k = 0; k < reduced; ++k) total += from[k * inner];
    y[i] = total;
  }
};

template <class T>
void run(SumCall& c) {
  launch("sum", c.x.dim(0) * c.x.dim(2), SumElement<T>{c.x.data<T>(), c.y.mutable_data<T>(), c.x.dim(1), c.x.dim(2)});
}

}  // namespace

void register_sum() {
  sum_op.add({.name = "element by element", .dtypes = DType::f32, .run = run<float>, .device = Device::Kind::cuda});
  sum_op.add({.name = "element by element", .dtypes = DType::f64, .run = run<double>, .device = Device::Kind::cuda});
}

}  // namespace headroom::engine::cuda
