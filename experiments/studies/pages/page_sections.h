#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/page.h"

/// The parts of page().
namespace headroom::experiments {

/// The question, what `--set` changed, the set-up in three lines (task, model, what is varied) and the finding.
Blocks opening_section(const StudyResults& results, const std::vector<Verdict>& verdicts);

/// Every claim in tables, the paper's first, then ours: verdict, claim, numbers, and the rest on demand.
Blocks verdict_section(const StudyResults& results, const std::vector<Verdict>& verdicts);

/// The trials that failed, and why; none when none did.
Blocks failed_section(const StudyResults& results);

/// Where a series is best: "best at heads = 8: 0.0123 [0.0101, 0.0150]"; plain text.
std::string series_words(const StudyResults& results, const std::string& series);

/// The curve of one series in numbers, with what the figure cannot show.
Blocks curve_table(const StudyResults& results, const std::string& series);

/// Machine, versions, data, all trials and the resolved config.
Block about_section(const StudyResults& results);

}  // namespace headroom::experiments
