#include "engine/ops/sum/sum.h"

#include "engine/cuda/sum.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T>
void run(SumCall& c) {
  sum_into(c.x.data<T>(), c.y.mutable_data<T>(), c.x.dim(0), c.x.dim(1), c.x.dim(2), c.x.device());
}

}  // namespace

void register_sum() { add_kernels(sum_op, "chunks in order", run<float>, run<double>, run<bf16>); }

}  // namespace headroom::engine::cuda
