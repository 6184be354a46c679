#pragma once
#include "engine/ops/attention/attention_device.cuh"

// Heads of any width, in f32 (also for bf16) or f64 arithmetic. A block of 256 threads, 16 × 16, owns 64 rows (of
// queries; of keys for dk and dv) and walks over tiles of 64 rows of the other side. Thread (tx, ty) keeps the scores
// of rows 4·ty … 4·ty + 3 and columns 4·tx … 4·tx + 3, and the same rows and C / 16 columns of the result.
//
// A product of two 64 × d operands is taken in slices of d, which lie in shared memory column by column, so that four
// rows of a column are one 16-byte load. Several blocks compute a result wider than C columns, C columns each, and all
// compute the scores again: any width works, and registers do not depend on it.
namespace headroom::engine::cuda {

inline constexpr int wide_threads = 256, wide_tile = 64;

/// N neighbouring numbers, loaded at once if they fit into 16 bytes.
template <class C, int N>
struct alignas(sizeof(C) * N < 16 ? sizeof(C) * N : 16) Run {
  C value[N];
};
template <class C>
using Quad = Run<C, 4>;

/// Quads per column, one extra so that neighbouring columns start in different banks.
inline constexpr int wide_column = wide_tile / 4 + 1;
template <class C>
inline constexpr int wide_depth = sizeof(C) == 4 ? 32 : 16;

/// A block's shared memory.
template <class C>
struct WideMemory {
  Quad<C> a[wide_depth<C>][wide_column], b[wide_depth<C>][wide_column];  ///< slices of a product's operands
  Quad<C> weights[wide_tile][wide_column];                               ///< [column of the scores][row]
};

/// A thread's place in its block.
struct WidePlace {
  int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
};

/// scores[r][c] = Σ_d a[4·ty + r][d]·b[4·tx + c][d]. All threads of the block call it.
template <class T, class C>
__device__ inline void wide_product(const Rows<T>& a, const Rows<T>& b, WideMemory<C>& memory, C (&scores)[4][4]) {
  constexpr int depth = wide_depth<C>;
  const WidePlace at;
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c) scores[r][c] = 0;
  for (int d0 = 0; d0 < a.width; d0 += depth) {
    __syncthreads();  // others may still read the slices
    for (int e = static_cast<int>(threadIdx.x); e < wide_tile * depth; e += wide_threads) {
      const int r = e / depth, d = e % depth;
      memory.a[d][r / 4].value[r % 4] = a.at(r, d0 + d);
      memory.b[d][r / 4].value[r % 4] = b.at(r, d0 + d);
    }
    __syncthreads();
#pragma unroll 8
    for (int d = 0; d < depth; ++d) {
      const Quad<C> x = memory.a[d][at.ty], y = memory.b[d][at.tx];
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) scores[r][c] += x.value[r] * y.value[c];
    }
  }
}

/// The block's weights, for wide_accumulate: weights[r][c] of row 4·ty + r and column 4·tx + c.
template <class C>
__device__ inline void wide_store(WideMemory<C>& memory, const C (&weights)[4][4]) {
  const WidePlace at;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    Quad<C> column;
#pragma unroll
    for (int r = 0; r < 4; ++r) column.value[r] = weights[r][c];
    memory.weights[4 * at.tx + c][at.ty] = column;
  }
}

/// A thread's part of 64 rows × `columns` of a result: of each group of 16 · run columns, `run` neighbours.
template <class C, int columns>
struct WideSum {
  static constexpr int run = columns >= 64 ? 4 : columns / 16, groups = columns / (16 * run);
  C value[4][groups][run];

  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < 4; ++r) scale(r, 0);
  }
  /// Multiplies row r by a factor; 0 clears any value.
  __device__ void scale(int r, C factor) {
#pragma unroll
    for (int n = 0; n < groups; ++n)
#pragma unroll
      for (int c = 0; c < run; ++c) value[r][n][c] = factor == 0 ? C(0) : factor * value[r][n][c];
  }
  /// += Σ_j weights[j][row] · x[j][first column + column], j < x.count. All threads of the block call it, after
  /// wide_store().
  template <class T>
  __device__ void accumulate(const Rows<T>& x, int first_column, WideMemory<C>& memory) {
    constexpr int depth = wide_depth<C>;
    static_assert(sizeof(Run<C, run>) * depth * columns / run <= 2 * sizeof(memory.a));
    auto* const slice = reinterpret_cast<Run<C, run>*>(&memory.a[0][0]);  // [depth][columns / run]
    const WidePlace at;
    for (int j0 = 0; j0 < x.count; j0 += depth) {
      __syncthreads();  // others may still read the slices; the weights are ready
      for (int e = static_cast<int>(threadIdx.x); e < depth * columns; e += wide_threads) {
        const int j = e / columns, c = e % columns;
        slice[e / run].value[e % run] = x.at(j0 + j, first_column + c);
      }
      __syncthreads();
#pragma unroll 4
      for (int j = 0; j < depth; ++j) {
        const Quad<C> w = memory.weights[j0 + j][at.ty];
#pragma unroll
        for (int n = 0; n < groups; ++n) {
          const Run<C, run> y = slice[j * (columns / run) + n * 16 + at.tx];
#pragma unroll
          for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int c = 0; c < run; ++c) value[r][n][c] += w.value[r] * y.value[c];
        }
      }
    }
  }
  /// Writes the thread's row r to columns [first_column, width) of y.
  template <class T>
  __device__ void write(int r, T* y, int first_column, int width, C factor) const {
    const WidePlace at;
#pragma unroll
    for (int n = 0; n < groups; ++n)
#pragma unroll
      for (int c = 0; c < run; ++c) {
        const int column = first_column + (n * 16 + at.tx) * run + c;
        if (column < width) store(y[column], factor * value[r][n][c]);
      }
  }
};

/// The largest or the sum of a row's scores, shared by 16 lanes; all of them get it.
template <class C, class Join>
__device__ inline C wide_row_reduce(C value, const Join& join) {
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) value = join(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}

/// Calls f(columns) with the width of a block's share of the result: 32, 64 or 128 in f32; 32 in f64.
template <class T, class F>
void with_wide_columns(int64_t width, F&& f) {
  if constexpr (std::is_same_v<T, double>) return f(std::integral_constant<int, 32>{});
  else if (std::is_same_v<T, bf16> || (width > 32 && width <= 64)) return f(std::integral_constant<int, 64>{});
  else if constexpr (std::is_same_v<T, float>) {
    if (width <= 32) return f(std::integral_constant<int, 32>{});
    return f(std::integral_constant<int, 128>{});
  }
}

}  // namespace headroom::engine::cuda
