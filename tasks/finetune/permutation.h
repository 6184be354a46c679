#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::tasks {

/// The key that determines a permutation.
struct PermutationKey {
  uint64_t seed = 0;
  std::string stream;  ///< of random numbers
  int64_t index = 0;   ///< index within the stream: an epoch
};

/// 0 … count - 1 in an order drawn by the key.
std::vector<int64_t> permutation(int64_t count, const PermutationKey& key);

}  // namespace headroom::tasks
