#pragma once
#include "engine/cuda/blocks.cuh"

// The numbers of a row of blocks, as a product's lanes read them: a *part* is one run of 16 columns, or two that share
// bytes by halves or bits, so that bytes and scales are read once. Bits as in blocks.cuh.
namespace headroom::engine::cuda {

inline constexpr int part_run = 16;

/// The alignment of a format's blocks: the largest power of two that divides their size, at most 16.
template <class F>
inline constexpr int block_alignment = F::bytes % 16 == 0 ? 16 : (F::bytes & -F::bytes);

struct alignas(16) FourWords {
  uint32_t at[4];
};

/// Reads the 16 bytes at p, a multiple of `alignment`, in the widest loads possible.
template <int alignment>
__device__ inline FourWords sixteen_bytes(const uint8_t* p) {
  static_assert(alignment >= 2 && 16 % alignment == 0);
  if constexpr (alignment == 16) {
    return *reinterpret_cast<const FourWords*>(p);
  } else if constexpr (alignment >= 4) {
    const auto* const words = reinterpret_cast<const uint32_t*>(p);
    return {words[0], words[1], words[2], words[3]};
  } else {
    // Words from the multiple of four at or before p; only the last pair, p's own, is then missing.
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(p) % 4) * 8;
    const auto* const words = reinterpret_cast<const uint32_t*>(p - shift / 8);
    const uint32_t last = *reinterpret_cast<const uint16_t*>(p + 14);
    const uint32_t own[5] = {words[0], words[1], words[2], words[3], last};
    FourWords out;
    for (int k = 0; k < 4; ++k)
      out.at[k] = static_cast<uint32_t>((static_cast<uint64_t>(own[k + 1]) << 32 | own[k]) >> shift);
    return out;
  }
}

/// Two runs of a block: x = step·(q - offset) + minimum, where q is a byte of `words`, signed.
template <int offset, bool has_minimum>
struct ByteRuns {
  /// True if an integer product has more than step·q; the offset is part of the minimum.
  static constexpr bool adds_minimum = has_minimum || offset != 0;
  uint32_t words[2][4];
  float step[2], minimum[2];

  __device__ void take(int word, uint32_t low, uint32_t high) { words[0][word] = low, words[1][word] = high; }
  /// The numbers of run h.
  __device__ void values(int h, float (&x)[part_run]) const {
    for (int i = 0; i < part_run; ++i) {
      const int q = static_cast<int8_t>(words[h][i / 4] >> (i % 4 * 8)) - offset;
      x[i] = Gpu::product(step[h], static_cast<float>(q));
      if (has_minimum) x[i] = Gpu::sum(x[i], minimum[h]);
    }
  }
};

/// Part p of a row of the format's struct F:
///
///   runs, apart      how many runs, and how many columns from the first to the second
///   column(p)        where the first run begins
///   of(row, p)       reads it
///   values(h, x)     the numbers of run h
///
/// and of a format with integer products, which has two runs,
///
///   words, step, adds_minimum    as in ByteRuns
///   added(p)                     the minimum of columns 32·p to 32·p + 31, which are this part's to add
///
/// Other formats: scales once a run, if a part has one, and numbers one by one.
template <class F>
struct RowPart {
  static constexpr int runs = 1, apart = 0, alignment = 1;
  const uint8_t* row;
  int64_t first;  ///< column

  __device__ static int64_t column(int64_t p) { return p * part_run; }
  __device__ static RowPart of(const uint8_t* row, int64_t p) { return {row, column(p)}; }
  __device__ void values(int, float (&x)[part_run]) const {
    if constexpr (F::run % part_run == 0 && F::elements % F::run == 0) {
      const uint8_t* const block = row + first / F::elements * F::bytes;
      const int i0 = static_cast<int>(first % F::elements), j = i0 / F::run;
      const blocks::Scale scale = F::template scale<Gpu>(block, j);
      for (int i = 0; i < part_run; ++i) x[i] = F::template value<Gpu>(scale, block, j, i0 % F::run + i);
    } else {
      for (int i = 0; i < part_run; ++i) x[i] = block_value<F>(row, first + i);
    }
  }
};

/// Numbers of 16 bits.
template <class F>
requires(F::elements == 1) struct RowPart<F> {
  static constexpr int runs = 1, apart = 0, alignment = 16;
  FourWords words[2];

  __device__ static int64_t column(int64_t p) { return p * part_run; }
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const from = row + column(p) * 2;
    return {{sixteen_bytes<16>(from), sixteen_bytes<16>(from + 16)}};
  }
  __device__ void values(int, float (&x)[part_run]) const {
    for (int i = 0; i < part_run; ++i) {
      const uint32_t bits = words[i / 8].at[i / 2 % 4] >> (i % 2 * 16);
      const uint8_t bytes[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
      x[i] = F::template at<Gpu>(bytes, 0);
    }
  }
};

template <bool has_fifth, bool has_m>
struct RowPart<blocks::Halves<has_fifth, has_m>> : ByteRuns<blocks::Halves<has_fifth, has_m>::offset, has_m> {
  using F = blocks::Halves<has_fifth, has_m>;
  static constexpr int runs = 2, apart = 16, alignment = block_alignment<F>;

  __device__ static int64_t column(int64_t p) { return p * 32; }
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const block = row + p * F::bytes;
    RowPart out;
    const blocks::Scale scale = F::template scale<Gpu>(block, 0);
    out.step[0] = out.step[1] = scale.step;
    out.minimum[0] = out.minimum[1] = scale.minimum;
    // F::bytes - 16 and the place of the fifth bits are multiples of the alignment.
    const FourWords packed = sixteen_bytes<alignment>(block + F::bytes - 16);
    uint32_t fifths = 0;
    if constexpr (has_fifth) fifths = Gpu::pair_at(block + F::head) | Gpu::pair_at(block + F::head + 2) << 16;
    for (int k = 0; k < 4; ++k)
      out.take(k, (packed.at[k] & 0x0f0f0f0fu) | spread(fifths >> (4 * k)),
               (packed.at[k] >> 4 & 0x0f0f0f0fu) | spread(fifths >> (16 + 4 * k)));
    return out;
  }
  __device__ float added(int64_t) const {
    return has_m ? this->minimum[0] : this->step[0] * -static_cast<float>(F::offset);
  }

 private:
  /// Moves bits 0 to 3 to the fifth bit of a byte each. The shifted copies do not overlap in the bits kept.
  __device__ static uint32_t spread(uint32_t bits) { return ((bits & 15) * 0x02040810u) & 0x10101010u; }
};

template <>
struct RowPart<blocks::Q8_0> : ByteRuns<0, false> {
  using F = blocks::Q8_0;
  static constexpr int runs = 2, apart = 16, alignment = block_alignment<F>;

  __device__ static int64_t column(int64_t p) { return p * 32; }
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const block = row + p * F::bytes;
    RowPart out;
    out.step[0] = out.step[1] = Gpu::half(block);
    out.minimum[0] = out.minimum[1] = 0;
    const FourWords low = sixteen_bytes<alignment>(block + 2), high = sixteen_bytes<alignment>(block + 18);
    for (int k = 0; k < 4; ++k) out.take(k, low.at[k], high.at[k]);
    return out;
  }
};

/// Q4_K and Q5_K: eight parts per block. Part 2k + h has sixteen bytes' low halves, which belong to run 2k, and their
/// high halves, which belong to run 2k + 1.
template <class F>
struct PairedPart : ByteRuns<0, true> {
  static constexpr int runs = 2, apart = 32, alignment = block_alignment<F>;

  __device__ static int64_t column(int64_t p) { return p / 2 * 64 + p % 2 * part_run; }
  __device__ static const uint8_t* block_of(const uint8_t* row, int64_t p) { return row + p / 8 * F::bytes; }
  __device__ void read_scales(const uint8_t* block, int64_t p) {
    const FourWords head = sixteen_bytes<alignment>(block);  // d and m; the bytes of Q4_K::scale
    const uint8_t d_and_m[4] = {static_cast<uint8_t>(head.at[0]), static_cast<uint8_t>(head.at[0] >> 8),
                                static_cast<uint8_t>(head.at[0] >> 16), static_cast<uint8_t>(head.at[0] >> 24)};
    const float d = Gpu::half(d_and_m), m = Gpu::half(d_and_m + 2);
    const uint32_t a = head.at[1], b = head.at[2], c = head.at[3];
    const bool is_upper = p % 8 >= 4;  // runs 4 to 7
    const uint32_t s = is_upper ? (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u) : a & 0x3f3f3f3fu;
    const uint32_t n = is_upper ? (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u) : b & 0x3f3f3f3fu;
    const int shift = static_cast<int>(p / 2 % 2) * 16;
    for (int h = 0; h < 2; ++h) {
      step[h] = Gpu::product(d, static_cast<float>(s >> (shift + 8 * h) & 255));
      minimum[h] = -Gpu::product(m, static_cast<float>(n >> (shift + 8 * h) & 255));
    }
  }
  /// Run 2k + h: each part adds one of its two.
  __device__ float added(int64_t p) const { return p % 2 == 0 ? minimum[0] : minimum[1]; }
};

template <>
struct RowPart<blocks::Q4_K> : PairedPart<blocks::Q4_K> {
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const block = block_of(row, p);
    RowPart out;
    out.read_scales(block, p);
    const FourWords packed = sixteen_bytes<alignment>(block + 16 + p % 8 * 16);
    for (int k = 0; k < 4; ++k) out.take(k, packed.at[k] & 0x0f0f0f0fu, packed.at[k] >> 4 & 0x0f0f0f0fu);
    return out;
  }
};

template <>
struct RowPart<blocks::Q5_K> : PairedPart<blocks::Q5_K> {
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const block = block_of(row, p);
    RowPart out;
    out.read_scales(block, p);
    const int k0 = static_cast<int>(p / 2 % 4) * 2;
    const FourWords packed = sixteen_bytes<alignment>(block + 48 + p % 8 * 16);
    const FourWords bits = sixteen_bytes<alignment>(block + 16 + p % 2 * 16);
    for (int k = 0; k < 4; ++k) {
      const uint32_t fifths = bits.at[k] >> k0;
      out.take(k, (packed.at[k] & 0x0f0f0f0fu) | (fifths & 0x01010101u) << 4,
               (packed.at[k] >> 4 & 0x0f0f0f0fu) | (fifths & 0x02020202u) << 3);
    }
    return out;
  }
};

/// Eight parts per block, four per 128 columns: part 2k + h has sixteen bytes' low halves, which belong to columns 32·k
/// + 16·h, and their high halves, 64 columns later.
template <>
struct RowPart<blocks::Q6_K> : ByteRuns<0, false> {
  using F = blocks::Q6_K;
  static constexpr int runs = 2, apart = 64, alignment = block_alignment<F>;

  __device__ static int64_t column(int64_t p) { return p / 4 * 128 + p % 4 * part_run; }
  __device__ static RowPart of(const uint8_t* row, int64_t p) {
    const uint8_t* const block = row + p / 8 * F::bytes;
    const int stretch = static_cast<int>(p / 4 % 2), at = static_cast<int>(p % 4);
    RowPart out;
    for (int h = 0; h < 2; ++h) {
      out.step[h] = F::template scale<Gpu>(block, stretch * 8 + at + 4 * h).step;
      out.minimum[h] = 0;
    }
    const FourWords packed = sixteen_bytes<alignment>(block + stretch * 64 + at * 16);
    const FourWords bits = sixteen_bytes<alignment>(block + 128 + stretch * 32 + at % 2 * 16);
    for (int k = 0; k < 4; ++k) {
      const uint32_t high = bits.at[k] >> (at / 2 * 2);
      out.take(k, less_32((packed.at[k] & 0x0f0f0f0fu) | (high & 0x03030303u) << 4),
               less_32((packed.at[k] >> 4 & 0x0f0f0f0fu) | (high & 0x30303030u)));
    }
    return out;
  }

 private:
  /// q - 32 in each byte, q < 64: flips the sixth bit to get the sign and copies it to the two bits above.
  __device__ static uint32_t less_32(uint32_t q) {
    const uint32_t turned = q ^ 0x20202020u;
    return turned + (turned & 0x20202020u) * 6;
  }
};

}  // namespace headroom::engine::cuda
