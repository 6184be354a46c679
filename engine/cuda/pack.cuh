#pragma once
#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/tensor.h"

// Walks over tensors by packs: neighbouring elements that one instruction reads or writes. Anything else (a view that
// starts between packs, a transposed operand, elements after the last pack) is walked by elements, in the same kernel
// and with the same results.
namespace headroom::engine::cuda {

/// N neighbouring elements: one instruction if they fill 2, 4, 8 or 16 bytes.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T value[N];
};

/// True if packs of N may start here.
template <int N, class T>
bool is_aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % alignof(Pack<T, N>) == 0;
}

/// Elements of a pack: as many of the widest operand as fill 16 bytes.
template <class... T>
constexpr int pack_size() {
  size_t widest = 1;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<int>(16 / widest);
}

/// N neighbouring elements, or one element N times (stride 0), as numbers. N = 1 takes any stride.
template <int N, class T>
__device__ inline void load_pack(const T* x, int64_t stride, Compute<T> (&numbers)[N]) {
  if (N > 1 && stride == 1) {
    const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(x);
    for (int k = 0; k < N; ++k) numbers[k] = load(pack.value[k]);
  } else {
    const Compute<T> number = load(*x);
    for (int k = 0; k < N; ++k) numbers[k] = number;
  }
}
template <int N, class T>
__device__ inline void store_pack(T* y, const Compute<T> (&numbers)[N]) {
  Pack<T, N> pack;
  for (int k = 0; k < N; ++k) store(pack.value[k], numbers[k]);
  *reinterpret_cast<Pack<T, N>*>(y) = pack;
}

/// Calls g.run<N>(N · p) for the first `packs` packs of n elements, and g.run<1>(i) for the rest.
template <int N, class G>
__global__ void each_pack(int64_t n, int64_t packs, G g) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t p = thread; p < packs; p += step) g.template run<N>(N * p);
  for (int64_t i = N * packs + thread; i < n; i += step) g.template run<1>(i);
}

/// Runs it on the context's stream; `whole`: packs may be read and written.
template <int N, class G>
void launch_packs(const char* name, int64_t n, bool whole, const G& g) {
  constexpr int64_t threads = 256, most_blocks = 65536;
  const int64_t packs = whole ? n / N : 0, tasks = packs > 0 ? packs : n, blocks = (tasks + threads - 1) / threads;
  launch_kernel(name, each_pack<N, G>, {blocks < most_blocks ? blocks : most_blocks, threads}, n, packs, g);
}

/// A row-major walk over a shape, with offsets in K tensors. Merges neighbouring axes if all tensors allow it, so
/// contiguous operands have one axis and need no division.
template <int K>
struct Walk {
  int64_t shape[Shape::max_rank];
  int64_t strides[K][Shape::max_rank];
  int rank = 0;
  bool is_narrow = true;  ///< 32-bit division suffices

  explicit Walk(const Shape& out, const Shape (&given)[K]) : shape{}, strides{} {
    is_narrow = out.numel() <= INT32_MAX;
    for (int axis = 0; axis < out.rank(); ++axis) {
      bool joins = rank > 0;
      for (int k = 0; k < K; ++k) joins = joins && strides[k][rank - 1] == given[k][axis] * out[axis];
      if (!joins && out[axis] == 1) continue;
      if (!joins) shape[rank++] = 1;
      shape[rank - 1] *= out[axis];
      for (int k = 0; k < K; ++k) strides[k][rank - 1] = given[k][axis];
    }
    if (rank == 0) shape[rank++] = 1;  // one element
  }

  /// True if packs of n elements do not cross an axis and start at multiples of `bytes` in tensor k, given its address
  /// and element size.
  bool takes_packs(int n, int k, const void* address, int64_t size) const {
    const int last = rank - 1;
    if (rank > 1 && shape[last] % n != 0) return false;
    if (strides[k][last] == 0) return true;
    const int64_t bytes = n * size < 16 ? n * size : 16;
    if (strides[k][last] != 1 || reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) != 0)
      return false;
    for (int axis = 0; axis < last; ++axis)
      if (strides[k][axis] * size % bytes != 0) return false;
    return true;
  }
  __device__ int64_t inner_stride(int k) const { return strides[k][rank - 1]; }

  /// Finds element i's offset in each tensor.
  __device__ void find(int64_t i, int64_t (&at)[K]) const {
    for (int k = 0; k < K; ++k) at[k] = 0;
    for (int axis = rank - 1; axis > 0; --axis) {
      const int64_t rest = is_narrow ? static_cast<uint32_t>(i) / static_cast<uint32_t>(shape[axis]) : i / shape[axis];
      const int64_t along = i - rest * shape[axis];
      for (int k = 0; k < K; ++k) at[k] += along * strides[k][axis];
      i = rest;
    }
    for (int k = 0; k < K; ++k) at[k] += i * strides[k][0];
  }
};

}  // namespace headroom::engine::cuda
