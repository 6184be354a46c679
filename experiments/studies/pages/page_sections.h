#pragma once
#include <string>
#include <vector>

#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/page.h"

/// The parts of page(); each is HTML.
namespace headroom::experiments {

/// The question, what `--set` changed, the set-up in three lines (task, model, what is varied) and the finding.
std::string opening_section(const StudyResults& results, const PageParts& parts);

/// Every claim in tables, the paper's first, then ours: verdict, claim, numbers, and the rest on demand.
std::string verdict_section(const StudyResults& results, const std::vector<Verdict>& verdicts);

/// The trials that failed, and why; "" when none did.
std::string failed_section(const StudyResults& results);

/// What a page needs of a drawn figure. `file`: the name of the SVG file beside the page, "" for none.
PageFigure page_figure(const Figure& figure, Drawing drawing, const std::string& file);

/// One drawn figure with its legend and caption.
std::string figure_block(const PageFigure& figure);

/// Where a series is best: "best at heads = 8: 0.0123 [0.0101, 0.0150]"; plain text.
std::string series_words(const StudyResults& results, const std::string& series);

/// The curve of one series in numbers, with what the figure cannot show.
std::string curve_table(const StudyResults& results, const std::string& series);

/// Machine, versions, data, all trials and the resolved config.
std::string about_section(const StudyResults& results);

}  // namespace headroom::experiments
