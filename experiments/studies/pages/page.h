#pragma once
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// A drawn figure.
struct PageFigure {
  std::string series;   ///< "" for those of several series
  std::string caption;  ///< plain text
  Drawing drawing;
  std::string file;  ///< name of the SVG file beside the page; "" for none
  std::string id;
  std::string legend;              ///< HTML: the lines by colour, which the script lets readers switch off
  std::string csv;                 ///< what is drawn
  std::vector<std::string> parts;  ///< what can be switched: "interval", "seeds", "log-linear" (shown, other)
  bool hides_seeds = false;        ///< until they are switched on
  bool is_main = false;            ///< the page opens with it
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
