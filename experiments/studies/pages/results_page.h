#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/head_choice.h"

namespace headroom::experiments {

/// Every curve of trained models over the number of heads, in the order of the studies.
std::vector<HeadChoice> head_choices(const std::vector<Analysis>& all);

/// The name of a study's page and figure, without extension: its id; where several profiles of it are among them,
/// with the profile, unless most of them have that profile.
std::string page_name(const std::vector<Analysis>& all, const Analysis& study);

/// A figure of the page: `file` is its name, relative to the page.
struct StudyFigure {
  std::string title, caption, file;
};

/// One study as a page: what was found, with which settings, the figures (with their captions where there
/// are several), each claim with its numbers, what does not hold and why, and the curves as mean ± standard error.
Blocks study_page(const Analysis& study, const std::vector<StudyFigure>& figures);

/// The index of the findings of many studies (docs/results.md): a row per study, which links to its page in `folder`,
/// and whether the paper's guideline, to start with few heads and to search upward, reaches the best within 10 %.
/// `all`: in_order(), so that the same results give the same bytes.
Blocks results_index(const std::vector<Analysis>& all, const std::string& folder);

/// Throws Error, as write_results() would, where `file` or the folder of its name cannot be written. Leaves nothing
/// behind.
void check_results(const std::filesystem::path& file);

/// Writes the index to `file`, and next to it a folder of its name ("docs/results/" for docs/results.md) with a page
/// per study, named by its id (and profile, where several of them are there), and its main figures as SVG. The page of
/// a study that is not among them stays. Throws Error naming a file that cannot be written.
void write_results(const std::vector<Analysis>& all, const std::filesystem::path& file);

}  // namespace headroom::experiments
