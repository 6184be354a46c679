#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/rng.h"

namespace headroom::tasks {

/// Block `index` of a seed's stream, whose blocks hold equally many values: what an epoch draws, with nothing to carry
/// from those before it.
struct StreamBlock {
  uint64_t seed = 0;
  std::string stream{};
  int64_t index = 0;
  /// The key of its `count` values.
  engine::RngKey key(int64_t count) const;
};

/// 0 … count - 1 in the order of the block's values.
std::vector<int64_t> permutation(int64_t count, const StreamBlock& block);

/// The same numbers in the order of a Fisher–Yates shuffle by the block's values.
std::vector<int64_t> shuffled(int64_t count, const StreamBlock& block);

}  // namespace headroom::tasks
