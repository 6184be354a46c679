#pragma once
#include <string>
#include <vector>

#include "experiments/tools/probe/probe_results.h"

namespace headroom::experiments {

/// A heading and what stands below it, plain text.
struct ProbeFinding {
  std::string heading, text;
};

/// What the measures say in words: where heads have width to spare, what the weights alone would show of it, whether
/// Theorem 2's slope is there and why not, sinks. Every number is computed from `results`.
std::vector<ProbeFinding> probe_findings(const ProbeResults& results);

/// What the measures do not say.
std::vector<std::string> probe_limits(const ProbeResults& results);

}  // namespace headroom::experiments
