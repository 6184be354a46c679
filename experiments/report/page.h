#pragma once
#include <string>
#include <vector>

#include "experiments/claims/claims.h"
#include "experiments/claims/study_results.h"

namespace headroom::experiments {

/// A drawn figure.
struct PageFigure {
  std::string series;        ///< "" for those of several series
  std::string caption;       ///< plain text
  std::string wide, narrow;  ///< SVG elements
  std::string file;          ///< name of the SVG file beside the page
};

/// What report.html is made of, beyond the results.
struct PageParts {
  std::vector<Verdict> verdicts;
  std::vector<PageFigure> figures;
  std::string without_figures;  ///< why some are missing; "" when they are all there
};

/// The whole report as one self-contained page: nothing is fetched, and it reads without its only script, which sorts
/// tables. Everything that comes from a study file or an error message is escaped.
std::string page(const StudyResults& results, const PageParts& parts);

/// A whole document around `body`, with the style sheet, a page's own rules behind it, and the script. `title` is plain
/// text.
std::string document(const std::string& title, const std::string& body, const std::string& own_rules = "");

}  // namespace headroom::experiments
