#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"
#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

/// The file of looks next to a claims file: "claims.looks".
std::filesystem::path looks_beside(const std::filesystem::path& claims);

/// Which look at its claims a verdict is.
struct CountedLook {
  int64_t number = 1;
  std::vector<std::string> notes;  ///< what that means for p-values; that claims changed; why it is not recorded
};

/// Counts a look at runs, judged as results whose `resolved_config` is the claims file, and sets what it may spend of a
/// claim's significance (results.looks): an equal share at each planned look, 1/k at the k-th if it was not planned,
/// all of it at any time. Runs that were seen before are no new look and keep their share. Appends a new look to `file`
/// unless `is_recorded` is false; if that fails, a note says so. Throws Error naming the line of a damaged file.
CountedLook count_look(const std::filesystem::path& file, const ForeignRuns& runs, const RunRoles& roles,
                       bool is_recorded, StudyResults& results);

}  // namespace headroom::experiments
