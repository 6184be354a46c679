#include "engine/ops/gather/gather.h"

#include "engine/cuda/pack.cuh"
#include "engine/dtype.h"
#include "engine/ops/gather/scatter_add.cuh"

namespace headroom::engine::cuda {
namespace {

/// In place of a missing element: NaN, or 0.
template <class T>
__device__ T nothing() {
  if constexpr (std::is_same_v<T, bool> || std::numeric_limits<T>::is_integer) return T(0);
  else return T(std::numeric_limits<float>::quiet_NaN());
}

template <class T>
struct GatherElements {
  GatherLayout at;
  const T* x;
  const int64_t* indices;
  T* y;

  template <int N>
  __device__ void run(int64_t i) const {
    const int64_t j = i % at.inner, row = i / at.inner, o = row / at.m, k = row % at.m;
    const int64_t index = indices[o * at.stride_o + k * at.stride_k + j * at.stride_j];
    const bool is_there = index >= 0 && index < at.n;
    const T* from = x + (o * at.n + index) * at.inner + j;
    Pack<T, N> pack;
    if (is_there) pack = *reinterpret_cast<const Pack<T, N>*>(from);
    else
      for (int e = 0; e < N; ++e) pack.value[e] = nothing<T>();
    *reinterpret_cast<Pack<T, N>*>(y + i) = pack;
  }
};

void run(GatherCall& c) {
  visit_dtype(c.x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int n = pack_size<T>();
    const GatherElements<T> g{c.at, c.x.data<T>(), c.indices.data<int64_t>(), c.y.mutable_data<T>()};
    const bool whole = c.at.inner % n == 0 && c.at.stride_j == 0 && is_aligned<n>(g.x) && is_aligned<n>(g.y);
    launch_packs<n>("gather", c.y.numel(), whole, g);
  });
}

void run_grad(GatherGradCall& c) {
  if (c.dx.numel() > 0) scatter_add(c.dx, c.dy, c.indices, c.at);
}

}  // namespace

void register_gather() {
  add_kernel(gather_op, "packs", every_dtype, run);
  add_kernel(gather_grad_op, "sums in order", DTypeSet(DType::f32) | DType::f64 | DType::bf16, run_grad);
}

}  // namespace headroom::engine::cuda
