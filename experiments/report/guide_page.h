#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/report/figure.h"
#include "experiments/report/head_choice.h"
#include "experiments/report/results_page.h"

namespace headroom::experiments {

/// Every curve of trained models over the number of heads, in the order of the findings.
std::vector<HeadChoice> head_choices(const std::vector<Finding>& all);

/// The error over the best of its curve against the width of a head, of all curves whose heads have D/H dimensions.
std::optional<Figure> guide_figure(const std::vector<HeadChoice>& choices);

/// How many heads, of what width? As Markdown: each claim of the paper with our answer, its interval, verdict, strength
/// and caveat; then what to choose, by task, positions and width, with what is as good, what is worse, and what the
/// data leave open. `figure`: the figure's file relative to the page, or "". The same results give the same bytes.
std::string guide_markdown(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices,
                           const std::string& figure);

/// Writes the page to `file` and its figure beside it, where gnuplot is installed. Throws Error naming a file that
/// cannot be written.
void write_guide(const std::vector<StudyResults>& studies, const std::filesystem::path& file);

}  // namespace headroom::experiments
