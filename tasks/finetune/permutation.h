#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::tasks {

/// What a permutation is a function of.
struct PermutationKey {
  uint64_t seed = 0;
  std::string stream;  ///< of random numbers
  int64_t index = 0;   ///< which of the stream's permutations: an epoch
};

/// 0 … count - 1 in an order drawn by the key.
std::vector<int64_t> permutation(int64_t count, const PermutationKey& key);

}  // namespace headroom::tasks
