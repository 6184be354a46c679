#pragma once
#include "engine/cuda/numbers.cuh"
#include "engine/ops/dropout/dropout.h"

namespace headroom::engine::cuda {

/// x as it is read after it has been stored.
template <class T>
__device__ inline Compute<T> rounded(Compute<T> x) {
  T y;
  store(y, x);
  return load(y);
}

/// dropout() of numbers that a kernel holds.
template <class T>
struct Dropping {
  RngKey key;
  uint32_t threshold;
  Compute<T> factor;

  explicit Dropping(const Dropout& of)
      : key(of.key), threshold(of.threshold()), factor(static_cast<Compute<T>>(of.factor())) {}

  /// Of the pack that begins with number i, rounded as if it were stored.
  template <int pack>
  __device__ void apply(int64_t i, Numbers<T, pack>& x) const {
    const auto first = static_cast<uint64_t>(i);
    if constexpr (pack % 4 == 0) {  // the words of one Philox counter serve four
      for (int n = 0; n < pack; n += 4) {
        const auto words = random_words(key, (key.first() + first) / 4 + static_cast<uint64_t>(n / 4));
        for (int k = 0; k < 4; ++k) x.at[n + k] = kept(words[static_cast<size_t>(k)], x.at[n + k]);
      }
    } else {
      for (int k = 0; k < pack; ++k) x.at[k] = kept(random_bits(key, first + static_cast<uint64_t>(k)), x.at[k]);
    }
  }

 private:
  __device__ Compute<T> kept(uint32_t bits, Compute<T> x) const {
    if (bits < threshold) return 0;
    // Never part of a fused multiply-add, which would not round it.
    if constexpr (std::is_same_v<T, double>) return __dmul_rn(x, factor);
    else return rounded<T>(__fmul_rn(x, factor));
  }
};

}  // namespace headroom::engine::cuda
