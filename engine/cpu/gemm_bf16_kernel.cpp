// Compiled once per instruction set: our own product of one tile of bf16. Pairs of B's rows are interleaved into panels
// of two vectors of columns; a micro-kernel keeps max_rows × 2 vectors of sums in registers while it runs through k, so
// that a result is written once. A is packed, too: its rows in place, 4096 bytes apart as they often are, would share
// one set of the first-level cache.
#include "engine/cpu/gemm_bf16_kernel.h"

#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {
namespace pairwise {

static constexpr int64_t panel = 2 * lanes;
static constexpr int max_rows = lanes == 16 ? 12 : 6;
static_assert(gemm_bf16_row_block % max_rows == 0 && gemm_bf16_columns % panel == 0);

#if defined(__AVX2__) && !defined(__AVX512BF16__)
/// Both halves of a pair are multiplied as f32, which takes A with its halves apart.
static constexpr bool is_split = true;

/// While it lives, the processor itself takes subnormal operands and results as zero, as dot_pairs() does.
class Flushing {
 public:
  Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~Flushing() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};
#else
static constexpr bool is_split = false;
struct Flushing {};
#endif

/// Keeps what is computed from x behind what was done before: a compiler knows nothing of the processor's modes.
static inline __attribute__((always_inline)) void hold([[maybe_unused]] Vec& x) {
#ifdef __AVX2__
  asm volatile("" : "+v"(x.v));
#endif
}

struct MicroBf16 {
  const uint32_t* a;  ///< max_rows pairs per step; split ones are their upper halves, and then their lower
  const uint32_t* b;  ///< `panel` pairs per step
  int64_t pairs;
  float* c;  ///< sums so far, and those to be written where y is null
  int64_t ldc;
  uint16_t* y;
  int64_t ldy;
  int64_t columns;  ///< to write
  const float* bias;
  const uint16_t* added;
  bool first;
};

/// Writes the first n sums of a vector that starts at column j. Not inline: a micro-kernel has two dozen vectors.
static __attribute__((noinline)) void put_edge(const MicroBf16& t, int64_t row, int64_t j, Vec x, int64_t n) {
  float* const c = t.c + row * t.ldc + j;
  const int64_t at = row * t.ldy + j;
  if (!t.first) x += load_first(c, n);
  if (t.bias) x += load_first(t.bias + j, n);
  if (t.added) x += load_bf16_first(t.added + at, n);
  if (t.y) store_bf16_first(t.y + at, x, n);
  else store_first(c, x, n);
}

template <int vectors>
static inline void put(const MicroBf16& t, int64_t row, const Vec* sum) {
  for (int v = 0; v < vectors; ++v) {
    const int64_t j = v * lanes, left = t.columns - j;
    if (v + 1 == vectors && left < lanes) return put_edge(t, row, j, sum[v], left);  // those before are whole
    float* const c = t.c + row * t.ldc + j;
    const int64_t at = row * t.ldy + j;
    Vec x = sum[v];
    if (!t.first) x += load(c);
    if (t.bias) x += load(t.bias + j);
    if (t.added) x += load_bf16(t.added + at);
    if (t.y) store_bf16(t.y + at, x);
    else store(c, x);
  }
}

// The sums stay in registers because all that they meet is in this function.
template <int rows, int vectors>
static void micro(const MicroBf16& t) {
  Vec sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = Vec(0.0f);
  const uint32_t *a = t.a, *b = t.b;
  if constexpr (is_split) {
    // The bits of dot_pairs() by two f32 products, that of the upper halves first.
    [[maybe_unused]] const Flushing flushing;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) hold(sum[r][v]);
    for (int64_t p = 0; p < t.pairs; ++p) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        Vec y[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          const RawU pair = load_pairs(b + v * lanes).v;
          y[v] = Vec(reinterpret_cast<RawF>(half == 0 ? pair & 0xffff0000u : pair << 16));
        }
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          const Vec x(reinterpret_cast<RawF>(RawU{} + a[r]));
#pragma GCC unroll 2
          for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, y[v], sum[r][v]);
        }
        a += max_rows;
      }
      b += panel;
    }
  } else {
#pragma GCC unroll 2
    for (int64_t p = 0; p < t.pairs; ++p) {
      Pairs y[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) y[v] = load_pairs(b + v * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const Pairs x{RawU{} + a[r]};
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sum[r][v] = dot_pairs(sum[r][v], x, y[v]);
      }
      a += max_rows;
      b += panel;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) hold(sum[r][v]);
    put<vectors>(t, r, sum[r]);
  }
}

using MicroFunction = void (*)(const MicroBf16&);
template <int rows>
static MicroFunction micro_of(int64_t wanted, bool wide) {
  if constexpr (rows > 1)
    if (wanted < rows) return micro_of<rows - 1>(wanted, wide);
  return wide ? micro<rows, 2> : micro<rows, 1>;
}

/// to[i] = the pair (lower[i], upper[i]).
static inline __attribute__((always_inline)) void interleave(const uint16_t* lower, const uint16_t* upper, int64_t n,
                                                             uint32_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = lower[i] | static_cast<uint32_t>(upper[i]) << 16;
}

/// Pairs along k of `count` rows, each in one piece and `stride` from the next: to[p·width + i], zero from i = count
/// on. k may be odd: the last pair's upper element is zero.
template <int64_t width>
static void pack_rows(const uint16_t* from, int64_t stride, int64_t count, int64_t k, uint32_t* to) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  const int64_t whole = k / 2;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const uint16_t* const x = from + i * stride;
    int64_t p = 0;
    for (; p + 4 <= whole; p += 4) {
      Four r[4];
      for (int j = 0; j < 4; ++j) std::memcpy(&r[j], x + j * stride + 2 * p, sizeof(Four));
      const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
                 b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
                 c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7),
                 d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
      const Four y[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                         __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
      for (int j = 0; j < 4; ++j) std::memcpy(to + (p + j) * width + i, &y[j], sizeof(Four));
    }
    for (; p < whole; ++p)
      for (int j = 0; j < 4; ++j) std::memcpy(to + p * width + i + j, x + j * stride + 2 * p, sizeof(uint32_t));
    if (k % 2 != 0)
      for (int j = 0; j < 4; ++j) to[whole * width + i + j] = x[j * stride + k - 1];
  }
  for (; i < width; ++i) {
    const uint16_t* const x = from + (i < count ? i * stride : 0);
    for (int64_t p = 0; p < k; p += 2)
      to[p / 2 * width + i] = i >= count ? 0 : x[p] | (p + 1 < k ? static_cast<uint32_t>(x[p + 1]) << 16 : 0);
  }
}

/// The same of `count` columns, side by side, whose elements lie `stride` apart.
template <int64_t width>
static void pack_columns(const uint16_t* from, int64_t stride, int64_t count, int64_t k, uint32_t* to) {
  static constexpr uint16_t zeros[width] = {};
  for (int64_t p = 0; p < k; p += 2, to += width) {
    const uint16_t* const lower = from + p * stride;
    const uint16_t* const upper = p + 1 < k ? lower + stride : zeros;
    if (count == width) {
      interleave(lower, upper, width, to);
    } else {
      interleave(lower, upper, count, to);
      std::memset(to + count, 0, static_cast<size_t>(width - count) * sizeof(uint32_t));
    }
  }
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Pairs along k of `count` rows, or columns, `width` of them at a time: one piece of to after the other. Columns are
/// taken a few steps of k at a time, so that neither side of the copy walks through more pages than it needs to.
template <int64_t width>
static void pack(const uint16_t* from, int64_t along, int64_t across, int64_t count, int64_t k, uint32_t* to) {
  constexpr int64_t at_once = 16;
  const int64_t piece = (k + 1) / 2 * width;
  if (along == 1) {
    for (int64_t i = 0; i < count; i += width, to += piece)
      pack_rows<width>(from + i * across, across, least(count - i, width), k, to);
    return;
  }
  for (int64_t p = 0; p < k; p += at_once)
    for (int64_t i = 0; i < count; i += width)
      pack_columns<width>(from + p * along + i, along, least(count - i, width), least(k - p, at_once),
                          to + i / width * piece + p / 2 * width);
}

/// The halves of `steps` times max_rows pairs, as f32: those of a step's upper ones, and then of its lower.
static void split(const uint32_t* __restrict pairs, int64_t steps, uint32_t* __restrict to) {
  for (int64_t p = 0; p < steps; ++p, pairs += max_rows, to += 2 * max_rows)
    for (int r = 0; r < max_rows; ++r) to[r] = pairs[r] & 0xffff0000u, to[max_rows + r] = pairs[r] << 16;
}

static void tile(const GemmTileBf16& t, uint32_t* scratch) {
  constexpr int64_t words = gemm_bf16_k_block / 2 * gemm_bf16_row_block, halves = is_split ? 2 : 1;
  uint32_t *const packed_b = scratch, *const packed_a = packed_b + gemm_bf16_k_block / 2 * gemm_bf16_columns,
                  *const split_a = packed_a + words;
  float* const sums = reinterpret_cast<float*>(split_a + 2 * words);
  for (int64_t p = 0; p < t.k; p += gemm_bf16_k_block) {
    const int64_t k = least(t.k - p, gemm_bf16_k_block), pairs = (k + 1) / 2;
    const bool last = p + k == t.k;
    pack<panel>(t.b + p * t.b_row, t.b_row, t.b_column, t.n, k, packed_b);
    for (int64_t i0 = 0; i0 < t.m; i0 += gemm_bf16_row_block) {
      const int64_t rows = least(t.m - i0, gemm_bf16_row_block);
      pack<max_rows>(t.a + i0 * t.a_row + p * t.a_column, t.a_column, t.a_row, rows, k, packed_a);
      if (is_split) split(packed_a, (rows + max_rows - 1) / max_rows * pairs, split_a);
      for (int64_t j = 0; j < t.n; j += panel) {
        const int64_t columns = least(t.n - j, panel);
        for (int64_t i = 0; i < rows; i += max_rows) {
          const int64_t row = i0 + i, at = row * t.stride + j;
          micro_of<max_rows>(least(rows - i, max_rows),
                             columns > lanes)({.a = (is_split ? split_a : packed_a) + halves * i * pairs,
                                               .b = packed_b + j * pairs,
                                               .pairs = pairs,
                                               .c = t.c ? t.c + at : sums + row * gemm_bf16_columns + j,
                                               .ldc = t.c ? t.stride : gemm_bf16_columns,
                                               .y = t.y && last ? t.y + at : nullptr,
                                               .ldy = t.stride,
                                               .columns = columns,
                                               .bias = t.bias && last ? t.bias + j : nullptr,
                                               .added = t.added && last ? t.added + at : nullptr,
                                               .first = p == 0});
        }
      }
    }
  }
}

}  // namespace pairwise

void gemm_tile_bf16(const GemmTileBf16& tile, uint32_t* scratch) { pairwise::tile(tile, scratch); }

}  // namespace headroom::engine::HEADROOM_ISA
