#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/claims/study_results.h"
#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

/// Runs of other programs as the trials that analyse() takes, and in words what was done with them.
struct JudgedRuns {
  StudyResults results;            ///< without claims
  std::string summary;             ///< what is judged: arms, seeds, the step
  std::vector<std::string> notes;  ///< runs left out and why, each with its place; at which step values were taken
};

/// Makes trials of runs by their roles. Left out and named are runs outside the arms, running ones, those with the
/// metrics of another run of their arm, and further runs with the seed of one. Crashed and diverged ones are failed
/// trials. Values are those at the last step that all have. Throws Error where a role names no column.
JudgedRuns judged_runs(const ForeignRuns& runs, const RunRoles& roles);

/// What claims on these runs may speak of.
StudyScope scope_of(const StudyResults& results);

/// Reads [runs] of a claims file. Throws ConfigError with all that is wrong.
RunRoles read_roles(const Value& claims_file);
/// Reads its [[claim]]s, which must be about these results. Throws the same.
std::vector<ClaimConfig> read_claims(const Value& claims_file, const StudyResults& results);

/// What is there: parameters that vary, seeds, metrics and steps; which arms these runs could tell apart, by how much,
/// and how many seeds would tell the usual smallest effect. Says nothing of which arm is better: claims come first.
std::string inventory(const ForeignRuns& runs, const RunRoles& roles, const JudgedRuns& judged, size_t columns);

/// A claims file to begin with: these roles, and claims whose direction is that of the names, not of the data.
std::string first_claims(const RunRoles& roles, const StudyResults& results);

}  // namespace headroom::experiments
