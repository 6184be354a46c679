#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// A figure of the page: `file` is its name, relative to the page.
struct StudyFigure {
  std::string title, caption, file;
};

/// One study as a page: what was found, with which settings, the figures (with their captions where there
/// are several), each claim with its numbers, what does not hold and why, and the curves as mean ± standard error.
Blocks study_page(const Finding& finding, const std::vector<StudyFigure>& figures);

}  // namespace headroom::experiments
