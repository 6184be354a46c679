#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/study_results.h"
#include "experiments/studies/pages/head_choice.h"

namespace headroom::experiments {

/// One study and what is said of it.
struct Finding {
  const StudyResults& results;
  std::vector<Verdict> verdicts;
};

/// Every study with its verdicts, by id and profile; one that is given twice is there once.
std::vector<Finding> findings(const std::vector<StudyResults>& studies);

/// Every curve of trained models over the number of heads, in the order of the findings.
std::vector<HeadChoice> head_choices(const std::vector<Finding>& all);

/// The name of a study's page and figure, without extension: its id; where several profiles of it are among the
/// findings, with the profile, unless most of the findings have that profile.
std::string page_name(const std::vector<Finding>& all, const Finding& finding);

/// A figure of the page: `file` is its name, relative to the page.
struct StudyFigure {
  std::string title, caption, file;
};

/// One study as a page: what was found, with which settings, the figures (with their captions where there
/// are several), each claim with its numbers, what does not hold and why, and the curves as mean ± standard error.
Blocks study_page(const Finding& finding, const std::vector<StudyFigure>& figures);

/// The index of the findings of many studies (docs/results.md): a row per study, which links to its page in `folder`,
/// and whether the paper's guideline, to start with few heads and to search upward, reaches the best within 10 %. The
/// same results give the same bytes, in any order.
Blocks results_index(const std::vector<Finding>& all, const std::string& folder);

/// Throws Error, as write_results() would, where `file` or the folder of its name cannot be written. Leaves nothing
/// behind.
void check_results(const std::filesystem::path& file);

/// Writes the index to `file`, and next to it a folder of its name ("docs/results/" for docs/results.md) with a page
/// per study, named by its id (and profile, where several of them are there), and its main figures as SVG. The page of
/// a study that is not among them stays. Throws Error naming a file that cannot be written.
void write_results(const std::vector<StudyResults>& studies, const std::filesystem::path& file);

}  // namespace headroom::experiments
