#pragma once
#include <functional>

#include "engine/work.h"

namespace headroom::experiments {

/// The best rates of a machine, in seconds.
struct Rates {
  std::function<double(const engine::Product&)> product;  ///< of all its `share`
  double exponential = 0;                                 ///< of one, where a block of them is in the cache
  double byte = 0;                                        ///< read or written
};

/// This CPU's, with num_threads() threads. Products are measured when they are first asked for. A product of
/// f32 is that of our kernels or of oneDNN, its tiles in our loop or all in one call; of bf16, one of those, too, or of
/// our kernels or oneDNN's for bf16, whichever took the least time. Products in a batch are timed a few at a time, as
/// many as caches hold. Bytes are those of a copy between two blocks that are `footprint` bytes together.
Rates measured_rates(int64_t footprint);

}  // namespace headroom::experiments
