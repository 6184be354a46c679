#pragma once
#include <string>
#include <vector>

#include "experiments/studies/config/study.h"

namespace headroom::experiments {

/// The claims that no result of the study can decide, whatever is measured, with what stands against it and what to
/// write: a line for each such key. They are what the judge says of made-up trials of every value that rounds may try,
/// of which none at an end of its grid is the best.
std::vector<std::string> undecidable(const Study& study);

}  // namespace headroom::experiments
