#include "engine/sequences/last_kept.h"

#include "engine/cuda/launch.cuh"
#include "engine/cuda/warp.cuh"

namespace headroom::engine::cuda {
namespace {

/// One warp for a row of the mask.
__global__ void last_kept_kernel(const bool* mask, int64_t* y, int64_t length) {
  const int64_t b = blockIdx.x;
  int64_t last = -1;
  for (int64_t t = threadIdx.x; t < length; t += warp_size)
    if (mask[b * length + t]) last = b * length + t;
  last = warp_reduce(last, Larger());
  if (threadIdx.x == 0) y[b] = last;
}

void run(LastKeptCall& c) {
  launch_kernel("last_kept", last_kept_kernel, {c.mask.dim(0), warp_size}, c.mask.data<bool>(),
                c.y.mutable_data<int64_t>(), c.mask.dim(1));
}

}  // namespace

void register_last_kept() { add_kernel(last_kept_op, "warp for a row", DType::boolean, run); }

}  // namespace headroom::engine::cuda
