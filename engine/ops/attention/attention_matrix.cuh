#pragma once
#include "engine/cuda/mma.cuh"
#include "engine/ops/attention/attention_device.cuh"

// bf16 on tensor cores. A block of four warps owns 64 rows (of queries; of keys for dk and dv), 16 per warp, and walks
// over tiles of N rows of the other side, which are copied to shared memory while the tile before is computed:
//
//   scores (16, N) = own rows (16, W) · other rows (N, W)ᵀ            fragments of both by ldmatrix
//   result (16, W) += weights (16, N) · other rows (N, W)             weights stay in the registers of the scores
//
// because the layout of a product's result is that of the next one's left operand. For lane l let g = l / 4, t = l % 4:
// it holds rows g and g + 8, columns 8x + 2t and 8x + 2t + 1 of each. Widths are padded to W = 16, 32, 64 or 128 by
// zeros in shared memory; a row there is 16 bytes longer than W, so that eight rows lie in different banks.
namespace headroom::engine::cuda {

inline constexpr int matrix_warps = 4, matrix_threads = matrix_warps * warp_size, matrix_rows = 16 * matrix_warps;
/// Rows of the other side at a time: what fits into the registers, and into 99 KiB of shared memory.
template <int W>
inline constexpr int matrix_columns = W == 128 ? 32 : 64;

/// `rows` rows of W.
template <int W, int rows>
struct MatrixTile {
  static constexpr int step = W + 8;
  bf16 value[rows * step];

  /// Starts to copy rows that the thread may read after wait_for_copies(), others after a barrier. All threads of the
  /// block call it.
  __device__ void fill(const Rows<bf16>& x) {
    if (x.packed) {  // a thread's packs lie below one another
      constexpr int packs = W / 8, apart = matrix_threads / packs;
      static_assert(matrix_threads % packs == 0 && rows % apart == 0);
      const int r0 = static_cast<int>(threadIdx.x) / packs, c = static_cast<int>(threadIdx.x) % packs * 8;
      const bf16* from = x.first + r0 * x.step + c;
      bf16* to = value + r0 * step + c;
      const int there = c < x.width ? x.count - r0 : 0;  // rows from r0 on of which this pack is copied
#pragma unroll
      for (int r = 0; r < rows; r += apart, from += apart * x.step, to += apart * step)
        copy_async(to, r < there ? from : x.first, r < there);
    } else {
      for (int e = static_cast<int>(threadIdx.x); e < rows * W; e += matrix_threads) {
        const int r = e / W, c = e % W;
        value[r * step + c] = x.has(r, c) ? x.first[r * x.step + c] : bf16(0.0f);
      }
    }
  }
};

/// Where a thread's numbers of a 16 × N result stand.
struct MatrixPlace {
  int lane = static_cast<int>(threadIdx.x) % warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
  /// The first of the thread's two rows among the block's 64, and of its two columns among each eight.
  int row = 16 * warp + lane / 4, column = lane % 4 * 2;
};

/// scores (16, N) = the warp's rows of `own` · otherᵀ.
template <int W, int N>
__device__ inline void matrix_product(const MatrixTile<W, matrix_rows>& own, const MatrixTile<W, N>& other,
                                      float (&scores)[N / 8][4]) {
  const MatrixPlace at;
  constexpr int step = W + 8;
  const bf16* const a_row = own.value + (16 * at.warp + at.lane % 16) * step + at.lane / 16 * 8;
  const bf16* const b_row = other.value + (at.lane / 16 * 8 + at.lane % 8) * step + at.lane / 8 % 2 * 8;
#pragma unroll
  for (int x = 0; x < N / 8; ++x)
#pragma unroll
    for (int e = 0; e < 4; ++e) scores[x][e] = 0;
#pragma unroll
  for (int d = 0; d < W; d += 16) {
    uint32_t a[4];
    load_matrices<false>(a, a_row + d);
#pragma unroll
    for (int n = 0; n < N; n += 16) {
      uint32_t b[4];
      load_matrices<false>(b, b_row + n * step + d);
      mma_m16n8k16(scores[n / 8], a, b[0], b[1]);
      mma_m16n8k16(scores[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

/// result (16, W) += weights (16, N) · other, the weights rounded to bf16.
template <int W, int N>
__device__ inline void matrix_accumulate(const float (&weights)[N / 8][4], const MatrixTile<W, N>& other,
                                         float (&result)[W / 8][4]) {
  const MatrixPlace at;
  constexpr int step = W + 8;
  const bf16* const b_row = other.value + at.lane % 16 * step + at.lane / 16 * 8;
#pragma unroll
  for (int n = 0; n < N; n += 16) {
    const float(&left)[4] = weights[n / 8], (&right)[4] = weights[n / 8 + 1];
    const uint32_t a[4] = {pack_bf16(left[0], left[1]), pack_bf16(left[2], left[3]), pack_bf16(right[0], right[1]),
                           pack_bf16(right[2], right[3])};
#pragma unroll
    for (int c = 0; c < W; c += 16) {
      uint32_t b[4];
      load_matrices<true>(b, b_row + n * step + c);
      mma_m16n8k16(result[c / 8], a, b[0], b[1]);
      mma_m16n8k16(result[c / 8 + 1], a, b[2], b[3]);
    }
  }
}

template <int W>
__device__ inline void matrix_clear(float (&result)[W / 8][4]) {
#pragma unroll
  for (int x = 0; x < W / 8; ++x)
#pragma unroll
    for (int e = 0; e < 4; ++e) result[x][e] = 0;
}

/// The thread's part of row `half` (0: g, 1: g + 8) times a factor, to y.
template <int W>
__device__ inline void matrix_write(const float (&result)[W / 8][4], int half, float factor, bf16* y, int width) {
  const MatrixPlace at;
#pragma unroll
  for (int x = 0; x < W / 8; ++x)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int column = 8 * x + at.column + e;
      if (column < width) store(y[column], factor * result[x][2 * half + e]);
    }
}

/// Over the four lanes that share a row; known to all of them.
template <class Join>
__device__ inline float matrix_row_reduce(float value, const Join& join) {
  value = join(value, __shfl_xor_sync(all_lanes, value, 1));
  return join(value, __shfl_xor_sync(all_lanes, value, 2));
}

/// Bit 4x + e: whether dropout keeps the thread's element [x][e] of scores (16, N). Rows are keys and columns queries
/// when `is_key_row`. `row` and `column`: of the thread's element [0][0]. All lanes of the warp call it: those whose
/// elements have the same words make each a part of them. A loop, not unrolled: see DropoutRow::kept.
template <bool is_key_row, int N>
__device__ inline uint32_t matrix_kept(const AttentionArguments<bf16>& a, const HeadRules<bf16>& rules, int row,
                                       int column) {
  static_assert(N <= 64);
  const int lane = MatrixPlace().lane;
  uint32_t bits = 0;
#pragma unroll 1
  for (int x = 0; x < N / 8; ++x) {
    if constexpr (is_key_row) {  // four lanes have four keys that follow one another, and each the same four [x][e]
      const int own = lane / 4 % 4;
      const uint32_t four = DropoutRow(a, rules.row + column + 8 * x + own % 2).kept(row - own + 8 * (own / 2), 4);
      for (int e = 0; e < 4; ++e)
        bits |= (__shfl_sync(all_lanes, four, lane + 4 * (e - own)) >> own & 1) << (4 * x + e);
    } else {  // two lanes have four keys, of two queries
      const int own = lane % 2;
      const uint32_t four = DropoutRow(a, rules.row + row + 8 * own).kept(column - 2 * own + 8 * x, 4);
      for (int half = 0; half < 2; ++half)
        bits |= (__shfl_sync(all_lanes, four, lane + half - own) >> (2 * own) & 3) << (4 * x + 2 * half);
    }
  }
  return bits;
}

/// Calls f(W, plain) with integral constants.
template <class F>
void with_matrix_kernel(int64_t width, bool plain, F&& f) {
  const auto with_width = [&](auto w) {
    if (plain) f(w, std::true_type{});
    else f(w, std::false_type{});
  };
  if (width <= 16) with_width(std::integral_constant<int, 16>{});
  else if (width <= 32) with_width(std::integral_constant<int, 32>{});
  else if (width <= 64) with_width(std::integral_constant<int, 64>{});
  else with_width(std::integral_constant<int, 128>{});
}

}  // namespace headroom::engine::cuda
