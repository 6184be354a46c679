#pragma once
#include <cstdint>
#include <string>

#include "experiments/studies/results.h"

namespace headroom::experiments {

/// What a trial has come to, apart from what its Trainer keeps.
struct TrialProgress {
  TrialRecord record;    ///< so far: steps, seconds in all processes, curve, and what the judged weights gave
  std::string level;     ///< instruction set of the kernels; "" in what an older program kept
  double best = 0;       ///< smallest validation error so far
  int64_t stale = 0;     ///< validations since then
  double last_loss = 0;  ///< of the latest update
  double gradient_norm = 0;
};

/// As a JSON object; doubles are kept to the bit.
std::string to_json(const TrialProgress& progress);
/// Members of other names are passed over. Throws Error that names what is missing or of another type.
TrialProgress progress_from_json(const std::string& text);

}  // namespace headroom::experiments
