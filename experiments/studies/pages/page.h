#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/study_results.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {

/// A drawn figure.
struct PageFigure {
  Figure figure;
  Drawing drawing;
  std::string file;  ///< name of the SVG file beside the page; "" for none
};

/// What report.html is made of, beyond the results.
struct PageParts {
  std::vector<Verdict> verdicts;
  std::vector<PageFigure> figures;
  std::string without_figures;  ///< why some are missing; "" when they are all there
};

/// The whole report as one self-contained page: nothing is fetched, and it reads without its only script, which sorts
/// tables and makes figures answer (values, lines and scales on and off, downloads). Everything that comes from a study
/// file or an error message is escaped.
std::string page(const StudyResults& results, const PageParts& parts);

}  // namespace headroom::experiments
