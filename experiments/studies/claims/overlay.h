#pragma once
#include <string>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// The overlay of a series; nullptr when it has none. An overlay that names no series belongs to the only one.
const Overlay* overlay_of(const StudyResults& results, const std::string& series);

/// The overlay's value at x; NaN where it has no point there.
double overlay_at(const Overlay& overlay, double x);

}  // namespace headroom::experiments
