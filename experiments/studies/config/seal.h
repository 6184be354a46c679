#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// Claims, seeds and rates as they were fixed, and when: a small file that `headroom register` writes.
struct ClaimSeal {
  int64_t at = 0;       ///< seconds since 1970, by this machine's clock
  std::string program;  ///< version_text()
  std::string config;   ///< TOML: the study with its profile and settings in place, or a claims file
};

/// The seal's file next to a claims file: "claims.sealed.json".
std::filesystem::path seal_beside(const std::filesystem::path& claims);
/// The seal's file in the folder of a study's run.
std::filesystem::path seal_in(const std::filesystem::path& folder);

/// Writes a seal. Returns the file's SHA-256, which proves the date if it is published somewhere else.
std::string write_claim_seal(const std::filesystem::path& file, const ClaimSeal& seal);

/// Compares the seal with today's config and with the trials of `results`, and keeps what it says in them: the date,
/// what has changed since, and in each claim's `worded_after` the trials that had begun. No file, no seal. Throws Error
/// naming a file that is no seal, or that was changed.
void apply_seal(const std::filesystem::path& file, const std::string& config, StudyResults& results);

/// Keys whose values differ between two TOML texts, a line each: "claim “muon-wins”: factor = 1.02 (was 1.01)". Titles,
/// questions and answers are left out, as no verdict depends on them.
std::vector<std::string> changed_keys(const std::string& before, const std::string& after);

}  // namespace headroom::experiments
