#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// The error over the best of its curve against the width of a head, of all curves that a choice can rest on: a panel
/// for each task, in which a ring is one number of heads, a cross one at which a seed did not learn, coloured by the
/// scheme of positions, and a line the mean at each width that half of the curves have. Texts share a scale, other
/// tasks another. The worst options of either are noted. Not yet drawn.
Figure guide_figure(const std::vector<const HeadChoice*>& curves);

/// How many heads, of what width? What to take, the figure, what holds throughout, how a search does, what is not
/// known. `details` is the name of the page behind it, which says more. The same results give the same page.
Blocks how_many_heads_page(const std::vector<HeadChoice>& choices, const std::string& details);

/// What it rests on: the answers of studies that ask for a section, the studies behind each row of the table, the test.
Blocks heads_details_page(const std::vector<Analysis>& all, const std::vector<HeadChoice>& choices);

/// Writes the page to `file`, and the page behind it next to it, "NAME-details": as HTML, the figure inside, where its
/// name ends in .html, else as Markdown with the figure in its folder. Throws Error naming a file that
/// cannot be written.
void write_guide(const std::vector<Analysis>& all, const std::filesystem::path& file);

// The parts of the guide, how_many_heads_page(), and of the page behind it. `curves`: distinct_learned().

/// The curves by task, those of texts first, then those of many.
std::vector<std::vector<const HeadChoice*>> by_task(const std::vector<const HeadChoice*>& curves);

/// What to take for each task and width (head_advice()), a row for the schemes of positions with one answer, with how
/// sure that is and a link to the page `details`; and the usual width where none was measured.
Block choice_picker(const std::vector<const HeadChoice*>& curves, const std::string& details);

/// For each text task, scheme of positions and width of model: the widths of a head that some curve shows to be within
/// 1 % of every other and none to be worse, those that some curve shows to be worse, and the rest.
Block choice_ranges(const std::vector<const HeadChoice*>& curves);

/// The same rows on the page behind: what one head and narrow heads cost, and the studies that it rests on.
Blocks choice_costs(const std::vector<Analysis>& all, const std::vector<const HeadChoice*>& curves);

/// What holds over all curves, in three points: one head, narrow heads, the learning rate.
Blocks choice_rules(const std::vector<const HeadChoice*>& curves);

/// The paper's guideline against heads of one width on the curves that can tell; nothing where there are none.
Blocks choice_searches(const std::vector<const HeadChoice*>& curves);

/// What the curves do not cover.
Blocks choice_limits(const std::vector<HeadChoice>& choices, const std::vector<const HeadChoice*>& curves);

/// "D 64: 8 × 8".
std::string taken_text(const HeadAdvice& advice);

}  // namespace headroom::experiments
