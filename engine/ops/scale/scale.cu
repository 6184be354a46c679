#include "engine/ops/scale/scale.h"

#include "engine/cuda/elementwise.cuh"

namespace headroom::engine::cuda {
namespace {

template <class C>
struct Times {
  C factor;
  __device__ C operator()(C x) const { return x * factor; }
};

template <class T>
void run(ScaleCall& c) {
  using C = Compute<T>;
  map<T, T>("scale", Times<C>{static_cast<C>(T(static_cast<C>(c.factor)))}, c.y, c.x);
}

}  // namespace

void register_scale() { add_strided_kernels(scale_op, "packs", run<float>, run<double>, run<bf16>); }

}  // namespace headroom::engine::cuda
