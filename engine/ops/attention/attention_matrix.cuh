#pragma once
#include "engine/cuda/mma.cuh"
#include "engine/ops/attention/attention_device.cuh"

// bf16 on tensor cores. A block of four warps owns 64 rows (of queries; of keys for dk and dv), 16 per warp, and walks
// over tiles of N rows of the other side, copying the next to shared memory while it computes one:
//
//   scores (16, N) = own rows (16, W) · other rows (N, W)ᵀ            fragments of both by ldmatrix
//   result (16, W) += weights (16, N) · other rows (N, W)             weights stay in the registers of the scores
//
// because a product's result has the layout of the next one's left operand. For lane l let g = l / 4, t = l % 4: it
// holds rows g and g + 8, columns 8x + 2t and 8x + 2t + 1 of each. Widths are padded with zeros to W = 8, 16, 32, 64 or
// 128 in shared memory; rows there are 16 bytes longer than W unless W is 8, so that eight rows lie in different banks.
//
// The speed of narrow heads depends on the number of instructions per score besides its exponential: so scores are
// scaled when the maximum is subtracted, and rules are applied only to tiles that they change.
namespace headroom::engine::cuda {

inline constexpr int matrix_warps = 4, matrix_threads = matrix_warps * warp_size, matrix_rows = 16 * matrix_warps;
/// Rows of the other side copied at a time: as many as fit into 99 KiB of shared memory.
template <int W>
inline constexpr int matrix_columns = W <= 16    ? 128
                                      : W == 128 ? 32
                                                 : 64;

/// Distance between rows in shared memory.
template <int W>
inline constexpr int matrix_step = W == 8 ? W : W + 8;

/// The part of a head's rows that this thread copies, tile after tile: packs of 8, 4, 2 or 1 numbers, the largest that
/// all rows are aligned to, in one column.
template <int W>
struct MatrixRows {
  const bf16* from;
  int64_t step;
  int there;     ///< number of rows, from the thread's first on, whose pack is copied
  int pack, to;  ///< `to`: position in a tile

  __device__ explicit MatrixRows(const Rows<bf16>& x) : step(x.step) {
    const uint32_t numbers = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(x.first) / sizeof(bf16)) |
                             static_cast<uint32_t>(x.step) | static_cast<uint32_t>(x.width);
    const int log_pack = numbers % 8 == 0 ? 3 : numbers % 4 == 0 ? 2 : numbers % 2 == 0 ? 1 : 0;
    pack = 1 << log_pack;
    const uint32_t packs = W >> log_pack;  // per row; a power of two, so one instruction divides threads by it
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

  /// Starts copying rows, readable by the thread after wait_for_copies(), by others after a barrier. All threads of the
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

/// The place of a thread's numbers in a 16 × N result.
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

/// Packs sixteen columns of weights as a left operand, rounded to bf16.
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

/// Sets each row of a result (16, 8n) to one number: `first` for rows g, `second` for rows g + 8.
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

/// Hides keys in the thread's scores: applies causality and the end of the keys; with `all`, also the mask and ALiBi,
/// and then converts to units of log2 e. If `is_key_row`, rows are keys and columns queries. `row` and `column`: of
/// element [0][0].
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

/// Writes the thread's part of row `half` (0: g, 1: g + 8), times a factor, to y.
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

/// Joins over the four lanes that share a row; all of them get the result.
template <class Join>
__device__ inline float matrix_row_reduce(float value, const Join& join) {
  value = join(value, __shfl_xor_sync(all_lanes, value, 1));
  return join(value, __shfl_xor_sync(all_lanes, value, 2));
}

/// Bit 4x + e says if dropout keeps the thread's element [x][e] of scores (16, N). If `is_key_row`, rows are keys and
/// columns queries. `row` and `column`: of the thread's element [0][0]. All lanes of the warp call it: lanes whose
/// elements share words each make a part of them for all columns, then exchange them. Not unrolled: see
/// DropoutRow::kept.
template <bool is_key_row, int N>
__device__ inline uint32_t matrix_kept(const AttentionArguments<bf16>& a, const PhiloxKeys& round_keys,
                                       const HeadRules<bf16>& rules, int row, int column) {
  static_assert(N <= 64);
  const int lane = MatrixPlace().lane, own = is_key_row ? lane / 4 % 4 : lane % 2;
  // The lane makes the words of four consecutive keys of one query at each x.
  const int64_t query = rules.row + (is_key_row ? column + own % 2 : row + 8 * own);
  const int key = is_key_row ? row - own + 8 * (own / 2) : column - 2 * own;
  const uint64_t start = a.dropout_key.first(), keys = static_cast<uint64_t>(a.k.tokens);
  const bool is_one_word = (start | keys) % 4 == 0;  // one call of Philox makes the four keys' words
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
  // Bits are now by [x][key], for one query. Lanes that share words swap halves until they are by [x][e]: bit n of the
  // lane's number among them moves to bit n of e.
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

/// The rules a kernel is compiled for: causality only, with dropout, or any: ALiBi, a mask, a negative scale.
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
