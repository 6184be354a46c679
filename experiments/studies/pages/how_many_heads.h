#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/head_choice.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// The error over the best of its curve against the width of a head, of all curves that a choice can rest on: a line
/// for each task in one figure, whose id is `stem`, then a figure for each task with all its curves. With one task
/// there is only the latter, under the id `stem`.
std::vector<Figure> guide_figures(const std::vector<HeadChoice>& choices, const std::string& stem);

/// How many heads, of what width? Each claim of the paper with our answer, its interval, verdict, strength and caveat;
/// then what to choose, by task, positions and width, with what is as good, what is worse, and what the data leave
/// open; the sections that studies ask for; in one line what has not been run. The figures have no drawing yet. The
/// same results give the same page.
Blocks how_many_heads_page(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices,
                           const std::vector<Figure>& figures);

/// Writes the page to `file`: as HTML, its figure inside, where its name ends in .html, else as Markdown with the
/// figures in its folder. Without gnuplot there is no figure. Throws Error naming a file that cannot be written.
void write_guide(const std::vector<StudyResults>& studies, const std::filesystem::path& file);

}  // namespace headroom::experiments
