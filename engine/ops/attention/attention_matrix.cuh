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
// it holds rows g and g + 8, columns 8x + 2t and 8x + 2t + 1 of each. Widths are padded to W = 8, 16, 32, 64 or 128 by
// zeros in shared memory; a row there is 16 bytes longer than W unless W is 8, so that eight rows lie in different
// banks.
//
// What decides the speed of narrow heads is how many instructions a score costs beyond its exponential: hence scores
// are scaled where the maximum is subtracted, and rules are applied only to the tiles that they change.
namespace headroom::engine::cuda {

inline constexpr int matrix_warps = 4, matrix_threads = matrix_warps * warp_size, matrix_rows = 16 * matrix_warps;
/// Rows of the other side that are copied at a time: what fits into 99 KiB of shared memory.
template <int W>
inline constexpr int matrix_columns = W <= 16    ? 128
                                      : W == 128 ? 32
                                                 : 64;

/// Between rows in shared memory.
template <int W>
inline constexpr int matrix_step = W == 8 ? W : W + 8;

/// What this thread copies of a head's rows, tile after tile: packs of 8, 4, 2 or 1 numbers, whichever all rows are
/// aligned to, that lie below one another.
template <int W>
struct MatrixRows {
  const bf16* from;
  int64_t step;
  int there;     ///< rows from the thread's first on of which its pack is copied
  int pack, to;  ///< `to`: where in a tile

  __device__ explicit MatrixRows(const Rows<bf16>& x) : step(x.step) {
    const uint32_t numbers = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(x.first) / sizeof(bf16)) |
                             static_cast<uint32_t>(x.step) | static_cast<uint32_t>(x.width);
    const int log_pack = numbers % 8 == 0 ? 3 : numbers % 4 == 0 ? 2 : numbers % 2 == 0 ? 1 : 0;
    pack = 1 << log_pack;
    const uint32_t packs = W >> log_pack;  // of a row; a power of two, by which threads are divided in one instruction
    const int row = static_cast<int>(threadIdx.x << log_pack) / W;
    const int column = static_cast<int>((threadIdx.x & (packs - 1)) << log_pack);
    from = x.first + row * x.step + column;
    there = column < x.width ? x.count - row : 0;
    to = row * matrix_step<W> + column;
  }
  __device__ void skip(int rows) { from += rows * step, there -= rows; }
};

/// `rows` rows of W.
template <int W, int rows>
struct MatrixTile {
  bf16 value[rows * matrix_step<W>];

  __device__ const bf16* row(int r) const { return value + r * matrix_step<W>; }

  /// Starts to copy rows that the thread may read after wait_for_copies(), others after a barrier. All threads of the
  /// block call it.
  __device__ void fill(const MatrixRows<W>& x) {
    if (x.pack == 8) copy<8>(x);
    else if (x.pack == 4) copy<4>(x);
    else if (x.pack == 2) copy<2>(x);
    else copy<1>(x);
  }

 private:
  template <int pack>
  __device__ void copy(const MatrixRows<W>& x) {
    constexpr int packs = W / pack, apart = matrix_threads / packs;
    [[maybe_unused]] constexpr int unrolled = pack == 8 ? rows : 1;
    static_assert(matrix_threads % packs == 0 && (rows % apart == 0 || rows < apart));
    if (apart > rows && static_cast<int>(threadIdx.x) >= rows * packs) return;
#pragma unroll unrolled
    for (int r = 0; r < rows; r += apart) {
      bf16* const to = value + x.to + r * matrix_step<W>;
      const bf16* const from = x.from + r * x.step;
      if constexpr (pack > 1) copy_async<pack * sizeof(bf16)>(to, r < x.there ? from : x.from, r < x.there);
      else *to = r < x.there ? *from : bf16(0.0f);
    }
  }
};

/// Where a thread's numbers of a 16 × N result stand.
struct MatrixPlace {
  int lane = static_cast<int>(threadIdx.x) % warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
  /// The first of the thread's two rows among the block's 64, and of its two columns among each eight.
  int row = 16 * warp + lane / 4, column = lane % 4 * 2;
};

/// scores (16, 8n) += the warp's rows of `own` · otherᵀ, `other` the first of 8n rows of a tile.
template <int W, int n>
__device__ inline void matrix_product(const MatrixTile<W, matrix_rows>& own, const bf16* other, float (&scores)[n][4]) {
  const MatrixPlace at;
  constexpr int step = matrix_step<W>;
  const bf16* const a_row = own.row(16 * at.warp + at.lane % 16);
  uint32_t a[4], b[4];
  if constexpr (W == 8) {
    load_matrices<false>(a, a_row);  // the same two twice
#pragma unroll
    for (int x = 0; x < n; x += 4) {
      load_matrices<false>(b, other + (8 * x + at.lane) * step);
#pragma unroll
      for (int m = 0; m < 4; ++m) mma_m16n8k8(scores[x + m], a[0], a[1], b[m]);
    }
  } else {
    const bf16* const b_row = other + (at.lane / 16 * 8 + at.lane % 8) * step + at.lane / 8 % 2 * 8;
#pragma unroll
    for (int d = 0; d < W; d += 16) {
      load_matrices<false>(a, a_row + at.lane / 16 * 8 + d);
#pragma unroll
      for (int x = 0; x < n; x += 2) {
        load_matrices<false>(b, b_row + 8 * x * step + d);
        mma_m16n8k16(scores[x], a, b[0], b[1]);
        mma_m16n8k16(scores[x + 1], a, b[2], b[3]);
      }
    }
  }
}

/// Sixteen columns of weights as a left operand, rounded to bf16.
__device__ inline void matrix_pack(const float (&left)[4], const float (&right)[4], uint32_t (&a)[4]) {
  a[0] = pack_bf16(left[0], left[1]), a[1] = pack_bf16(left[2], left[3]);
  a[2] = pack_bf16(right[0], right[1]), a[3] = pack_bf16(right[2], right[3]);
}

/// result (16, W) += weights (16, 8n) · other, the weights rounded to bf16, `other` the first of 8n rows of a tile.
template <int W, int n>
__device__ inline void matrix_accumulate(const float (&weights)[n][4], const bf16* other, float (&result)[W / 8][4]) {
  const MatrixPlace at;
  constexpr int step = matrix_step<W>;
  uint32_t a[4], b[4];
  if constexpr (W == 8) {
#pragma unroll
    for (int x = 0; x < n; x += 4) {
      load_matrices<true>(b, other + (8 * x + at.lane) * step);
      matrix_pack(weights[x], weights[x + 1], a);
      mma_m16n8k16(result[0], a, b[0], b[1]);
      matrix_pack(weights[x + 2], weights[x + 3], a);
      mma_m16n8k16(result[0], a, b[2], b[3]);
    }
  } else {
    const bf16* const b_row = other + at.lane % 16 * step + at.lane / 16 * 8;
#pragma unroll
    for (int x = 0; x < n; x += 2) {
      matrix_pack(weights[x], weights[x + 1], a);
#pragma unroll
      for (int c = 0; c < W; c += 16) {
        load_matrices<true>(b, b_row + 8 * x * step + c);
        mma_m16n8k16(result[c / 8], a, b[0], b[1]);
        mma_m16n8k16(result[c / 8 + 1], a, b[2], b[3]);
      }
    }
  }
}

/// Each row of a result (16, 8n) is set to one number: `first` rows g, `second` rows g + 8.
template <int n>
__device__ inline void matrix_set(float (&result)[n][4], float first, float second) {
#pragma unroll
  for (int x = 0; x < n; ++x)
#pragma unroll
    for (int e = 0; e < 4; ++e) result[x][e] = e < 2 ? first : second;
}
template <int n>
__device__ inline void matrix_clear(float (&result)[n][4]) {
  matrix_set(result, 0, 0);
}

/// Applies to the thread's scores what hides keys: causality and the end of the keys; where `all`, the mask and ALiBi,
/// too, and then brings them to units of log2 e. Rows are keys and columns queries when `is_key_row`. `row` and
/// `column`: of element [0][0].
template <bool is_key_row, bool all, int n>
__device__ inline void matrix_apply(const HeadRules<bf16>& rules, float to_score, float (&scores)[n][4], int row,
                                    int column) {
#pragma unroll
  for (int x = 0; x < n; ++x)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int r = row + 8 * (e / 2), c = column + 8 * x + e % 2, i = is_key_row ? c : r, j = is_key_row ? r : c;
      if (all) scores[x][e] = rules.score(to_score * scores[x][e], i, j);
      else if (j >= rules.visible(i)) scores[x][e] = -infinity<float>;
    }
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
/// when `is_key_row`. `row` and `column`: of the thread's element [0][0]. All lanes of the warp call it: lanes whose
/// elements have the same words make each a part of them for all columns, and then exchange them. A loop, not unrolled:
/// see DropoutRow::kept.
template <bool is_key_row, int N>
__device__ inline uint32_t matrix_kept(const AttentionArguments<bf16>& a, const PhiloxKeys& round_keys,
                                       const HeadRules<bf16>& rules, int row, int column) {
  static_assert(N <= 64);
  const int lane = MatrixPlace().lane, own = is_key_row ? lane / 4 % 4 : lane % 2;
  // The lane makes the words of four keys that follow one another, of one query, at each x.
  const int64_t query = rules.row + (is_key_row ? column + own % 2 : row + 8 * own);
  const int key = is_key_row ? row - own + 8 * (own / 2) : column - 2 * own;
  const uint64_t start = a.dropout_key.first(), keys = static_cast<uint64_t>(a.k.tokens);
  const bool is_one_word = (start | keys) % 4 == 0;  // the four keys' words are those of one call of Philox
  uint64_t block = (start + static_cast<uint64_t>(query) * keys + static_cast<uint64_t>(key)) / 4;
  uint32_t bits = 0;
#pragma unroll 1
  for (int x = 0; x < N / 8; ++x, block += is_key_row ? 2 * keys : 2) {
    uint32_t four = 0;
    if (is_one_word) {
      const std::array<uint32_t, 4> words = random_words(round_keys, a.dropout_key.stream, block);
#pragma unroll
      for (int n = 0; n < 4; ++n) four |= static_cast<uint32_t>(words[n] >= a.dropped_below) << n;
    } else {
      four = DropoutRow(a, is_key_row ? query + 8 * x : query).kept(is_key_row ? key : key + 8 * x, 4);
    }
    bits |= four << (4 * x);
  }
  // Bits are now by [x][key], those of one query. The lanes that share words swap halves of them until they are by
  // [x][e]: bit n of the lane's number among them goes where bit n of e says.
  const auto swap = [&](int distance, int shift, uint32_t low, bool is_upper) {
    const uint32_t other = __shfl_xor_sync(all_lanes, bits, distance);
    bits = is_upper ? (other >> shift & low) | (bits & ~low) : (bits & low) | (other << shift & ~low);
  };
  if constexpr (is_key_row) {
    swap(4, 1, 0x55555555u, own % 2 != 0);
    swap(8, 2, 0x33333333u, own / 2 != 0);
  } else {
    swap(1, 2, 0x33333333u, own != 0);
  }
  return bits;
}

/// What a kernel is compiled for: causality only, that and dropout, or whatever there is: ALiBi, a mask, a scale that
/// turns scores round.
enum class MatrixRules { causal, dropout, any };

/// Calls f(W, rules) with integral constants.
template <class F>
void with_matrix_kernel(int64_t width, const AttentionArguments<bf16>& a, F&& f) {
  const auto with_width = [&](auto w) {
    if (a.slopes || a.key_mask || !(a.scale > 0)) f(w, std::integral_constant<MatrixRules, MatrixRules::any>{});
    else if (a.dropout) f(w, std::integral_constant<MatrixRules, MatrixRules::dropout>{});
    else f(w, std::integral_constant<MatrixRules, MatrixRules::causal>{});
  };
  if (width <= 8) with_width(std::integral_constant<int, 8>{});
  else if (width <= 16) with_width(std::integral_constant<int, 16>{});
  else if (width <= 32) with_width(std::integral_constant<int, 32>{});
  else if (width <= 64) with_width(std::integral_constant<int, 64>{});
  else with_width(std::integral_constant<int, 128>{});
}

}  // namespace headroom::engine::cuda
