#pragma once
#include <vector>

#include "experiments/output/document.h"
#include "experiments/tools/probe/probe_results.h"

namespace headroom::experiments {

/// What a page shows of each head when it is chosen, layer after layer: every measure, the curves, and these in
/// numbers.
std::vector<Blocks> head_details(const ProbeResults& results);

}  // namespace headroom::experiments
