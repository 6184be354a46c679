#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/study_results.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {

/// A figure and where it was written.
struct PageFigure {
  Figure figure;
  std::string file;  ///< name of the SVG file in the page's folder; "" for none
};

/// What report.html is made of, beyond the results.
struct PageParts {
  std::vector<Verdict> verdicts;
  std::vector<PageFigure> figures;
};

/// The whole report as one self-contained page: nothing is fetched, and it reads without its only script, which sorts
/// tables and makes figures answer (values, lines and scales on and off, downloads). Everything that comes from a study
/// file or an error message is escaped.
std::string page(const StudyResults& results, const PageParts& parts);

/// The numbers of a verdict that a limit decides, each with that limit.
std::vector<Whisker> whiskers(const StudyResults& results, const Verdict& verdict);

/// Every claim in tables, the paper's first, then ours: verdict, claim, numbers, and the rest on demand.
Blocks verdict_section(const StudyResults& results, const std::vector<Verdict>& verdicts);

/// The trials that failed, and why; none when none did.
Blocks failed_section(const StudyResults& results);

/// Where a series is best: "best at heads = 8: 0.0123 [0.0101, 0.0150]"; plain text.
std::string series_words(const StudyResults& results, const std::string& series);

/// The curve of one series in numbers, with what the figure cannot show.
Blocks curve_table(const StudyResults& results, const std::string& series);

}  // namespace headroom::experiments
