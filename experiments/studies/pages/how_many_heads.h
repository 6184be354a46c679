#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/head_choice.h"
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

}  // namespace headroom::experiments
