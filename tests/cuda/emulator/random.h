#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace headroom::engine::cuda::emulator {

/// The order of everything that a GPU does in no fixed order: SplitMix64, from HEADROOM_CUDA_SEED.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  void seed(uint64_t seed) { state_ = seed; }

  /// In [0, n).
  size_t below(size_t n) {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    __extension__ using Wide = unsigned __int128;
    return static_cast<size_t>(Wide{z} * n >> 64);
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace headroom::engine::cuda::emulator
