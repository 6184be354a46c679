#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/studies/pages/verdict_file.h"

namespace headroom::experiments {

/// A number of ours to compare with one of the paper: from a claim that names that as its reference, or from
/// the report's [[report.beside]] (then without claim and status).
struct OurNumber {
  std::string study, profile, claim, status;
  double value = 0;
  std::string model;  ///< a trained model that it was measured on; "" where the study trains its own
  /// The heading of its column: "ours (SmolLM2-135M, quick)".
  std::string column() const { return "ours (" + (model.empty() ? "" : model + ", ") + profile + ")"; }
};

/// Our numbers for the paper's number at `path`, in the order of `all`; empty when none was run.
std::vector<OurNumber> ours_beside(const PaperPath& path, const std::vector<StoredVerdicts>& all);

/// The paper's tables that one of these studies is for, every number beside ours, a column for each model and profile,
/// "not run" where there is none, as text.
std::string paper_text(const std::vector<StoredVerdicts>& all, size_t columns = 0);

/// The same as one self-contained HTML page, followed by every claim of every study with its verdict.
std::string paper_page(const std::vector<StoredVerdicts>& all);

/// Writes the page to OUT/paper.html and returns its path. Throws Error when it cannot be written.
std::filesystem::path write_paper_page(const std::vector<StoredVerdicts>& all, const std::filesystem::path& out);

}  // namespace headroom::experiments
