#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {

/// A figure and where it was written.
struct PageFigure {
  Figure figure;
  std::string file;  ///< name of the SVG file in the page's folder; "" for none
};

/// The whole report as one self-contained page: nothing is fetched, and it reads without its only script, which sorts
/// tables and makes figures answer (values, lines and scales on and off, downloads). Everything that comes from a study
/// file or an error message is escaped.
std::string page(const Analysis& results, const std::vector<PageFigure>& figures);

/// Every claim in tables, the paper's first, then ours: verdict, claim, numbers, and the rest on demand.
Blocks verdict_section(const Analysis& results);

/// The trials that failed, and why; none when none did.
Blocks failed_section(const StudyResults& results);

/// Where a series is best: "best at heads = 8: 0.0123 [0.0101, 0.0150]"; plain text.
std::string series_words(const Analysis& results, const std::string& series);

/// The curve of one series in numbers, with what the figure cannot show.
Blocks curve_table(const Analysis& results, const std::string& series);

/// "best heads = 0.93 · width^0.52 [0.31, 0.73] · …, off by a factor of 1.21 where a series is left out (8 series);
/// width / token_dim is off by 1.9".
std::string law_sentence(const FittedLaw& law);

/// The same with a row per series; none where the report asks for no law.
Blocks law_section(const Analysis& results);

/// What validation said of every value of a key, to be opened: a row per series and x, a column per value, the chosen
/// one bold; means over the seeds that were trained at all values of a row. A reader sees how much hangs on one step of
/// a grid. Nothing where no series chose between values of a single key.
Blocks tried_choices(const Analysis& results);

}  // namespace headroom::experiments
