#pragma once
#include <algorithm>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/numbers.cuh"
#include "engine/cuda/warp.cuh"

// Kernels that work row by row. The threads that share a row are a *team*: a warp for short rows, a block for long
// ones. A row's function is written once for both.
namespace headroom::engine::cuda {

/// A warp per row.
struct WarpTeam {
  __device__ int index() const { return static_cast<int>(threadIdx.x) % warp_size; }
  __device__ int size() const { return warp_size; }
  __device__ int64_t first_row() const {
    return int64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
  }
  __device__ int64_t row_step() const { return int64_t{gridDim.x} * (blockDim.x / warp_size); }
  /// value ∘ value ∘ … over the team in a fixed order, known to all of it. The whole team calls it.
  template <class T, class Join>
  __device__ T reduce(T value, const Join& join) const {
    return warp_reduce(value, join);
  }
};

/// A block per row.
struct BlockTeam {
  double* scratch;  ///< one per warp, in shared memory
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int64_t first_row() const { return blockIdx.x; }
  __device__ int64_t row_step() const { return gridDim.x; }
  template <class T, class Join>
  __device__ T reduce(T value, const Join& join) const {
    static_assert(sizeof(T) <= sizeof(double));
    return block_reduce(value, reinterpret_cast<T*>(scratch), join);
  }
};

template <class F>
__global__ void each_short_row(int64_t rows, F f) {
  const WarpTeam team;
  for (int64_t row = team.first_row(); row < rows; row += team.row_step()) f(team, row);
}

/// The most threads per block; its registers must allow it.
inline constexpr int long_row_threads = 1024;

template <class F>
__global__ void __launch_bounds__(long_row_threads, 1) each_long_row(int64_t rows, F f) {
  __shared__ double scratch[warp_size];
  const BlockTeam team{scratch};
  for (int64_t row = team.first_row(); row < rows; row += team.row_step()) f(team, row);
}

/// Rows up to this width take a warp.
inline constexpr int64_t short_row = 1024;

/// Calls f(team, row) on the GPU for every row in [0, rows), on the context's stream. F is a function object that is
/// copied there. `shared_bytes`: dynamic shared memory of a block, for rows longer than `short_row`.
template <class F>
void launch_rows(const char* name, int64_t rows, int64_t width, const F& f, size_t shared_bytes = 0) {
  constexpr int64_t most_blocks = 1 << 20, warps = 8;
  if (width <= short_row) {
    const int64_t blocks = std::min(most_blocks, (rows + warps - 1) / warps);
    launch_kernel(name, each_short_row<F>, {blocks, warps * warp_size}, rows, f);
  } else {
    const unsigned threads = width <= 4 * short_row ? 256 : width <= 16 * short_row ? 512 : long_row_threads;
    launch_kernel(name, each_long_row<F>, {std::min(most_blocks, rows), threads, shared_bytes}, rows, f);
  }
}

/// Calls f(i) for this thread's packs of a row: elements [i, i + pack).
template <int pack, class Team, class F>
__device__ inline void for_each_pack(const Team& team, int64_t n, const F& f) {
  for (int64_t i = int64_t{team.index()} * pack; i < n; i += int64_t{team.size()} * pack) f(i);
}

}  // namespace headroom::engine::cuda
