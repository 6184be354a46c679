#pragma once
#include <map>
#include <string>
#include <vector>

#include "experiments/claims/claims.h"
#include "experiments/results.h"

namespace headroom::experiments {

/// The drawings of one series; empty strings when there are none.
struct DrawnFigure {
  std::string wide, narrow;  ///< SVG elements for the page
  std::string file;          ///< name of the SVG file beside it
};

/// What report.html is made of, beyond the results.
struct PageParts {
  std::vector<Verdict> verdicts;
  std::map<std::string, DrawnFigure> figures;  ///< by series
  std::string without_figures;                 ///< why there are none; "" when they are all there
};

/// The whole report as one self-contained page: no script, nothing fetched. Everything that comes from a study file or
/// an error message is escaped.
std::string page(const StudyResults& results, const PageParts& parts);

/// The page's style sheet: light, dark, phone and print.
extern const char* const kPageStyle;

}  // namespace headroom::experiments
