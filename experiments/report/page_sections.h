#pragma once
#include <set>
#include <string>
#include <vector>

#include "experiments/report/page.h"

/// The parts of page(); each is HTML.
namespace headroom::experiments {

/// The headline and every claim with its verdict: the paper's first, then ours.
std::string verdict_section(const std::vector<Verdict>& verdicts);

/// The trials that failed, and why; "" when none did.
std::string failed_section(const StudyResults& results);

/// The drawn figures of one series, or those of several with series "".
std::string figures_of(const PageParts& parts, const std::string& series);

/// The curve of one series in numbers, with what the figure cannot show.
std::string curve_table(const StudyResults& results, const std::string& series);

/// Machine, versions, data, all trials and the resolved config.
std::string about_section(const StudyResults& results);

/// <name>html</name>.
std::string element(const std::string& name, const std::string& html);

/// A table that sorts, in a frame that scrolls by itself. `heads` are plain text, `rows` whole <tr>s. Columns in
/// `words` hold text rather than numbers: their heads get the class that their cells are to have.
std::string sortable_table(const std::string& name, const std::vector<std::string>& heads, const std::string& rows,
                           const std::set<size_t>& words = {});

/// The style sheet: light, dark, phone and print.
std::string page_style();

/// Sorts tables by a click on a column's head. Holds neither < nor &: a page is XML, too.
extern const char* const kPageScript;

}  // namespace headroom::experiments
