#pragma once
#include "engine/cuda/mma.cuh"
#include "engine/ops/attention/attention_device.cuh"

// Heads of width ≤ 16 in f32. A product of width 4 costs less than the exponential after it, so any overhead counts:
// each thread keeps R whole rows (of queries; of keys for dk and dv) in registers, with their sums, and walks over the
// other side's rows, which lie in shared memory row by row:
//
//   shared memory   row 0: x_0 … x_{W-1} | row 1: … | …          W: the width, padded to a power of two
//   thread t        rows t, t + 128, … of the block's R · 128    R = 2 where there are enough rows for that
//
// All threads of a warp read the same 16 bytes at a time (one broadcast, no bank conflict), used R times; scores never
// leave registers, and threads wait for each other only when a tile is loaded. Scores are taken in chunks, so that the
// running sums are scaled once per chunk, and only if the maximum rose.
namespace headroom::engine::cuda {

inline constexpr int narrow_threads = 128, narrow_tile = 128;
/// Minimum blocks per multiprocessor: at most 128 registers per thread, 168 in the gradient. Otherwise the compiler
/// loads a whole chunk at once.
inline constexpr int narrow_blocks = 4, narrow_grad_blocks = 3;
static_assert(narrow_tile == narrow_threads, "a thread loads what belongs to one row of a tile");
template <int W, int R>
inline constexpr int narrow_chunk = W* R <= 4 ? 16 : 8;

struct alignas(16) Four {
  float value[4];
};

/// `narrow_tile` rows of W.
template <int W>
struct NarrowTile {
  Four fours[narrow_tile * W / 4];

  /// rows × factor, zeros around them. All threads of the block call it.
  __device__ void fill(const Rows<float>& rows, float factor) {
    float* x = fours[0].value;
    for (int e = static_cast<int>(threadIdx.x); e < narrow_tile * W; e += narrow_threads)
      x[e] = factor * rows.at(e / W, e % W);
  }
  /// out[n] (+)= x·row n of the `count` rows from `first` on.
  template <int count>
  __device__ void dots(const float (&x)[W], int first, float (&out)[count]) const {
#pragma unroll
    for (int f = 0; f < count * W / 4; ++f) {
      const Four four = fours[first * W / 4 + f];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int n = (4 * f + e) / W, c = (4 * f + e) % W;
        out[n] = c == 0 ? x[0] * four.value[e] : out[n] + x[c] * four.value[e];
      }
    }
  }
  /// out += Σ_n weights[n] · row n.
  template <int count>
  __device__ void add_to(float (&out)[W], int first, const float (&weights)[count]) const {
#pragma unroll
    for (int f = 0; f < count * W / 4; ++f) {
      const float4 four = load_again(&fours[first * W / 4 + f]);
      const float value[] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int e = 0; e < 4; ++e) out[(4 * f + e) % W] += weights[(4 * f + e) / W] * value[e];
    }
  }
};

/// The keys of a tile that the key mask lets through, one bit each.
struct NarrowMask {
  uint32_t words[narrow_tile / warp_size];

  /// All threads of the block call it.
  __device__ void fill(const HeadRules<float>& rules, int j0) {
    const int j = j0 + static_cast<int>(threadIdx.x);
    const bool passes = !rules.mask || (j < rules.keys && rules.mask[j]);
    const uint32_t word = __ballot_sync(all_lanes, passes);
    if (threadIdx.x % warp_size == 0) words[threadIdx.x / warp_size] = word;
  }
  /// Bit n: key `first` + n; `first` is a multiple of a chunk.
  __device__ uint32_t bits(int first) const { return words[first / warp_size] >> first % warp_size; }
};

/// The lowest `count` bits; none for a negative count.
__device__ inline uint32_t low_bits(int count) {
  return count >= warp_size ? ~0u : (1u << (count > 0 ? count : 0)) - 1;
}

/// Sets scores of pairs whose bit in `seen` is 0 to -inf.
template <int count>
__device__ inline void hide(float (&s)[count], uint32_t seen) {
  if ((seen & low_bits(count)) == low_bits(count)) return;
#pragma unroll
  for (int n = 0; n < count; ++n) s[n] = seen >> n & 1 ? s[n] : -infinity<float>;
}

/// s[n] -= slope · |from + step · n|.
template <int count>
__device__ inline void add_distances(float (&s)[count], float slope, int from, int step) {
#pragma unroll
  for (int n = 0; n < count; ++n) s[n] -= slope * static_cast<float>(abs(from + step * n));
}

/// Reads a row of at most W elements times a factor, followed by zeros.
template <int W>
__device__ inline void load_row(const Rows<float>& rows, int r, float factor, float (&x)[W]) {
#pragma unroll
  for (int c = 0; c < W; ++c) x[c] = factor * rows.at(r, c);
}
template <int W>
__device__ inline void store_row(float* y, int width, float factor, const float (&x)[W]) {
#pragma unroll
  for (int c = 0; c < W; ++c)
    if (c < width) y[c] = factor * x[c];
}

/// Calls f(width, rows per thread, plain) with integral constants: the width padded to 1, 2, 4, 8 or 16; two rows per
/// thread if that still keeps a large GPU busy with `rows` rows.
template <class F>
void with_narrow_kernel(int64_t width, int64_t rows, bool plain, F&& f) {
  const auto with_width = [&](auto w) {
    const auto with_rows = [&](auto r) {
      if (plain) f(w, r, std::true_type{});
      else f(w, r, std::false_type{});
    };
    if constexpr (decltype(w)::value <= 4)
      if (rows >= (int64_t{1} << 18)) return with_rows(std::integral_constant<int, 2>{});
    with_rows(std::integral_constant<int, 1>{});
  };
  if (width <= 1) with_width(std::integral_constant<int, 1>{});
  else if (width <= 2) with_width(std::integral_constant<int, 2>{});
  else if (width <= 4) with_width(std::integral_constant<int, 4>{});
  else if (width <= 8) with_width(std::integral_constant<int, 8>{});
  else with_width(std::integral_constant<int, 16>{});
}

}  // namespace headroom::engine::cuda
