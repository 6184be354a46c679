#pragma once
#include <algorithm>
#include <cmath>

#include "engine/rng.h"

namespace headroom::engine {

/// What dropout() does to a tensor that another op adds or makes: nothing, unless p > 0.
struct Dropout {
  double p = 0;
  RngKey key{};

  /// Elements with random bits below it are dropped,
  uint32_t threshold() const { return static_cast<uint32_t>(std::min(std::floor(p * 0x1p32 + 0.5), 0x1p32 - 1)); }
  /// and the others multiplied by this.
  double factor() const { return 1 / (1 - p); }
};

}  // namespace headroom::engine
