#pragma once
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "tests/cuda/emulator/warp.h"

// Shuffles, votes and reductions of a warp, all of them made of emulator::warp_collective.

namespace headroom::engine::cuda::emulator {

template <class T>
struct ShuffleLane {
  T value, result;
  int source;  ///< absolute lane
};

/// `source`: the lane, in the whole warp, that this lane reads. A lane outside the mask is an error.
template <class T>
T shuffle(unsigned mask, T value, int source, const char* name, const std::source_location& where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "CUDA shuffles numbers of up to 8 bytes");
  ShuffleLane<T> lane{value, value, source};
  warp_collective(mask, &lane, {name, where}, [](Lanes& lanes) {
    for (int i = 0; i < 32; ++i) {
      if (!lanes.payload[i]) continue;
      auto& to = *static_cast<ShuffleLane<T>*>(lanes.payload[i]);
      if (!lanes.payload[to.source]) lanes.read_outside(i, to.source);
      to.result = static_cast<ShuffleLane<T>*>(lanes.payload[to.source])->value;
    }
  });
  return lane.result;
}

template <class T, class Join>
T reduce(unsigned mask, T value, Join, const char* name, const std::source_location& where) {
  warp_collective(mask, &value, {name, where}, [](Lanes& lanes) {
    T total{};
    bool first = true;
    for (void* payload : lanes.payload) {
      if (!payload) continue;
      total = first ? *static_cast<T*>(payload) : Join{}(total, *static_cast<T*>(payload));
      first = false;
    }
    for (void* payload : lanes.payload)
      if (payload) *static_cast<T*>(payload) = total;
  });
  return value;
}

unsigned ballot(unsigned mask, bool predicate, const char* name, const std::source_location& where);

}  // namespace headroom::engine::cuda::emulator

#define HEADROOM_HERE const std::source_location& where = std::source_location::current()

void __syncwarp(unsigned mask = 0xffffffffu, HEADROOM_HERE);
unsigned __ballot_sync(unsigned mask, int predicate, HEADROOM_HERE);
int __any_sync(unsigned mask, int predicate, HEADROOM_HERE);
int __all_sync(unsigned mask, int predicate, HEADROOM_HERE);
/// The lanes of the warp that exist and have not returned. (On a GPU fewer of them may be active at this place.)
unsigned __activemask();

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, HEADROOM_HERE) {
  namespace emulator = headroom::engine::cuda::emulator;
  const int self = emulator::lane();
  return emulator::shuffle(mask, value, self / width * width + (lane & (width - 1)), "__shfl_sync", where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, HEADROOM_HERE) {
  namespace emulator = headroom::engine::cuda::emulator;
  const int self = emulator::lane(), from = self - static_cast<int>(distance);
  return emulator::shuffle(mask, value, from < self / width * width ? self : from, "__shfl_up_sync", where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, HEADROOM_HERE) {
  namespace emulator = headroom::engine::cuda::emulator;
  const int self = emulator::lane(), from = self + static_cast<int>(distance);
  return emulator::shuffle(mask, value, from >= (self / width + 1) * width ? self : from, "__shfl_down_sync", where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, HEADROOM_HERE) {
  namespace emulator = headroom::engine::cuda::emulator;
  const int self = emulator::lane(), from = self ^ bits;
  return emulator::shuffle(mask, value, from >= (self / width + 1) * width ? self : from, "__shfl_xor_sync", where);
}

#define HEADROOM_REDUCE(NAME, TYPE, EXPRESSION)                                       \
  inline TYPE NAME(unsigned mask, TYPE value, HEADROOM_HERE) {                        \
    const auto join = [](TYPE a, TYPE b) { return static_cast<TYPE>(EXPRESSION); };   \
    return headroom::engine::cuda::emulator::reduce(mask, value, join, #NAME, where); \
  }
HEADROOM_REDUCE(__reduce_add_sync, unsigned, a + b)
HEADROOM_REDUCE(__reduce_add_sync, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
HEADROOM_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
HEADROOM_REDUCE(__reduce_max_sync, int, a > b ? a : b)
HEADROOM_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
HEADROOM_REDUCE(__reduce_min_sync, int, a < b ? a : b)
HEADROOM_REDUCE(__reduce_or_sync, unsigned, a | b)
HEADROOM_REDUCE(__reduce_and_sync, unsigned, a& b)
#undef HEADROOM_REDUCE
#undef HEADROOM_HERE
