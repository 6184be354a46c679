#pragma once
#include <string>

#include "experiments/report/results_page.h"

namespace headroom::experiments {

/// One study as a page of Markdown: what was found, with which settings, the `figure` (a file's name relative to the
/// page, or ""), each claim with its numbers, what does not hold and why, and the curves as mean ± standard error.
std::string study_page(const Finding& finding, const std::string& figure);

}  // namespace headroom::experiments
