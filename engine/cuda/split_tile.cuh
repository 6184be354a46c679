#pragma once
#include <algorithm>

#include "engine/cuda/mma.cuh"
#include "engine/cuda/split_product.h"
#include "engine/cuda/warp.cuh"

// A block of eight warps makes a tile (128, 128) of y, each warp (64, 32). It walks over k in steps of 16, splitting
// the next tiles of a and b on their way to shared memory while it multiplies these. The tiles after
// those are already under way to registers.
//
// Tensor cores do not round a sum but cut its last bits off, which over a long sum adds up to far more than rounding
// would. So they sum 16 terms at a time, from zero, the small products apart; the rest is added as f32 numbers are.
namespace headroom::engine::cuda {

inline constexpr int split_depth = 16, split_threads = 256;
/// Numbers are multiplied by it before they are split, so that denormals, too, are the sum of three; larger ones than
/// 2^111 overflow, and so are summed again like infinities.
inline constexpr float split_scale = 65536;

/// A tile of a or b as three tiles of bf16, laid out as in memory. `along_k`: neighbours in memory follow each other
/// along k.
template <bool along_k>
struct SplitTile {
  static constexpr int rows = along_k ? split_side : split_depth, columns = along_k ? split_depth : split_side;
  static constexpr int step = columns + 8;  // so that eight rows lie in different banks
  static constexpr int packs = columns / 4;
  bf16 number[3][rows * step];

  /// The place of the thread's `half` (0 or 1) of the tile, a pack of four in each.
  __device__ static int row(int half) { return static_cast<int>(threadIdx.x) / packs + half * rows / 2; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % packs * 4; }

  __device__ void put(int half, float4 x) {
    float v[] = {split_scale * x.x, split_scale * x.y, split_scale * x.z, split_scale * x.w};
    const int at = row(half) * step + column();
#pragma unroll
    for (bf16* to : {number[0], number[1], number[2]}) {
      const uint2 pair{pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3])};
      *reinterpret_cast<uint2*>(to + at) = pair;
      const uint32_t bits[] = {pair.x << 16, pair.x & 0xffff0000u, pair.y << 16, pair.y & 0xffff0000u};
#pragma unroll
      for (int i = 0; i < 4; ++i) v[i] -= __uint_as_float(bits[i]);
    }
  }

  /// A fragment of 16 rows of op(a), or of two of 8 columns of op(b), from `outer` on: one of the three.
  template <bool is_a>
  __device__ void load(uint32_t (&m)[4], int which, int outer) const {
    const int lane = static_cast<int>(threadIdx.x) % warp_size, low = lane / 8 % 2 * 8, high = lane / 16 * 8;
    const int o = outer + (is_a ? low : high), k = is_a ? high : low;
    const bf16* const x = number[which];
    if constexpr (along_k) load_matrices<false>(m, x + (o + lane % 8) * step + k);
    else load_matrices<true>(m, x + (k + lane % 8) * step + o);
  }
};

/// The thread's part of a or b in memory, from tile to tile along k.
template <bool along_k>
struct SplitSide {
  using Tile = SplitTile<along_k>;
  const float* from;
  int64_t row;  ///< from one row in memory to the next
  int k;        ///< left
  int outer;    ///< rows of op(a) or columns of op(b) in the tile
  bool aligned;

  __device__ SplitSide(const float* x, int64_t row, int64_t first_k, int k, int64_t first, int64_t extent, bool aligned)
      : from(x + (along_k ? first * row + first_k : first_k * row + first) + Tile::row(0) * row + Tile::column()),
        row(row),
        k(k),
        outer(static_cast<int>(std::min<int64_t>(extent - first, split_side))),
        aligned(aligned) {}

  /// Zeros beyond the matrix.
  __device__ float4 get(int half) const {
    const int there = Tile::row(half) < (along_k ? outer : k) ? (along_k ? k : outer) - Tile::column() : 0;
    const float* const x = from + half * (Tile::rows / 2) * row;
    if (there >= 4 && aligned) return *reinterpret_cast<const float4*>(x);
    return {there > 0 ? x[0] : 0, there > 1 ? x[1] : 0, there > 2 ? x[2] : 0, there > 3 ? x[3] : 0};
  }
  __device__ void advance() {
    from += along_k ? split_depth : split_depth * row;
    k -= split_depth;
  }
};

/// sums (16, 32) += a (16, 16) · b (16, 32).
__device__ inline void split_multiply(float (&sums)[4][4], const uint32_t (&a)[3][4], const uint32_t (&b)[3][2][4]) {
  float small[4][4] = {}, large[4][4] = {};
  const auto add = [&](float(&d)[4][4], int i, int j) {
#pragma unroll
    for (int x = 0; x < 4; ++x) mma_m16n8k16(d[x], a[i], b[j][x / 2][x % 2 * 2], b[j][x / 2][x % 2 * 2 + 1]);
  };
  add(small, 2, 0), add(small, 1, 1), add(small, 0, 2), add(small, 1, 0), add(small, 0, 1);
  add(large, 0, 0);
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[x][e] += large[x][e] + small[x][e];
}

}  // namespace headroom::engine::cuda
