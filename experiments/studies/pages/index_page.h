#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// What the index says of one study under one profile.
struct StudySummary {
  std::string id, profile, title;
  std::string progress;                                ///< progress_of()
  std::string paper_tally, theorem_tally, ours_tally;  ///< tally()
  std::string finding;                                 ///< answer(); "" where no claim is judged
  double seconds = 0;                                  ///< of all trials together
  std::vector<std::string> figures{};                  ///< names of the files that the report begins with
};

/// The summary as JSON: what write_report() leaves in OUT/STUDY/PROFILE/summary.json.
std::string summary_json(const Analysis& results, const std::vector<std::string>& figures);

/// The summaries of all reports under `out`, ordered by (study, profile). A file that cannot be read as one is left out
/// and named in `unread`: the index is no reason to lose a report.
std::vector<StudySummary> read_summaries(const std::filesystem::path& out, std::vector<std::string>& unread);

/// Writes OUT/index.html, a page over all reports under `out`, and returns its path. Throws Error when it cannot be
/// written.
std::filesystem::path write_index(const std::filesystem::path& out);

}  // namespace headroom::experiments
