#pragma once
#include <array>
#include <cstdint>

#include "engine/host_device.h"

// Random bits as a pure function of their position, for the host and GPU kernels: rng.h turns them into values.
namespace headroom::engine {

/// One round of Philox.
HEADROOM_HD inline std::array<uint32_t, 4> philox_round(const std::array<uint32_t, 4>& c,
                                                        const std::array<uint32_t, 2>& k) {
  const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
  return {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
          static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
}

/// The round keys that Philox derives from its key.
using PhiloxKeys = std::array<std::array<uint32_t, 2>, 10>;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random words from a
/// counter and a key. The same bits on every machine, thread and device.
HEADROOM_HD inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    c = philox_round(c, k);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

/// A key of addressed, not sequential, random values: element i of a fill is a pure function of (seed, stream,
/// offset + i). Reading past its count is an Error, since the values after it are another key's.
struct RngKey {
  uint64_t seed = 0;    ///< Philox key
  uint32_t stream = 0;  ///< hash of the stream's name: the fourth counter word
  uint64_t offset = 0;  ///< added to *base gives the first element: counter words 0 and 1 hold (first + i) / 4
  /// Null, or the address of the step's start (StepState::random_offset): replaying a step with such a key gives the
  /// next step's values. Read on its own device, each time values are made.
  const uint64_t* base = nullptr;
  uint64_t count =
      ~uint64_t{0};  ///< values it holds: as many as Rng::take() was asked for; a key written out has no end

  /// The first element. Everything that makes values from a key must ask here.
  HEADROOM_HD uint64_t first() const { return offset + (base ? *base : 0); }
};

/// The random words of elements 4 · block … 4 · block + 3 of the key's stream, counted from its element 0.
HEADROOM_HD inline std::array<uint32_t, 4> random_words(const RngKey& key, uint64_t block) {
  return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0u, key.stream},
                {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
}

/// The part of a key that random_words() needs, for kernels that make many: a GPU reads it from the arguments.
inline PhiloxKeys round_keys_of(const RngKey& key) {
  PhiloxKeys keys{};
  for (uint32_t round = 0; round < keys.size(); ++round)
    keys[round] = {static_cast<uint32_t>(key.seed) + round * 0x9E3779B9u,
                   static_cast<uint32_t>(key.seed >> 32) + round * 0xBB67AE85u};
  return keys;
}
/// The same words, from round keys and the key's stream.
HEADROOM_HD inline std::array<uint32_t, 4> random_words(const PhiloxKeys& keys, uint32_t stream, uint64_t block) {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0u, stream};
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (size_t round = 0; round < keys.size(); ++round) c = philox_round(c, keys[round]);
  return c;
}

/// Throws Error: element i is not the key's.
[[noreturn]] void fail_past_end(const RngKey& key, uint64_t i);

/// The 32 random bits of element i of a key. On the host it throws Error past the key's count; kernels check before.
HEADROOM_HD inline uint32_t random_bits(const RngKey& key, uint64_t i) {
#ifndef __CUDA_ARCH__
  if (i >= key.count) fail_past_end(key, i);
#endif
  const uint64_t index = key.first() + i;
  const std::array<uint32_t, 4> words = random_words(key, index / 4);
  // Selects instead of indexing: an array with a variable index would go to a GPU thread's local memory.
  const uint32_t low = index % 2 == 0 ? words[0] : words[1], high = index % 2 == 0 ? words[2] : words[3];
  return index % 4 < 2 ? low : high;
}

}  // namespace headroom::engine
