#pragma once
#include <string>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

enum class Clock { kept, left_out };

/// One row per trial, ordered by (series, x, choice, seed), RFC 4180 quoting, numbers in full precision: series, x, one
/// column per `best_of` key, seed, status, whether its choice was taken, parameters, FLOPs, seconds, each validation
/// and test metric, id, message. Clock::left_out leaves the seconds out: equal bytes for equal results.
std::string csv(const Analysis& results, Clock clock);

}  // namespace headroom::experiments
