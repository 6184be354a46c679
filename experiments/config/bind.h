#pragma once
#include <string>

#include "experiments/config/problems.h"
#include "experiments/config/trial_config.h"
#include "experiments/config/value.h"
#include "experiments/results.h"

namespace headroom::experiments {

/// [task], [model] and [train] of a table in which every swept key has its value. What is wrong goes into `problems`.
TrialConfig bind_trial(const Value& root, int64_t seed, Problems& problems);

/// [study], [report] and the [[claim]]s.
struct StudyHead {
  std::string id, title, paper;
  ReportConfig report;  ///< without overlays: each series has its own
  std::vector<ClaimConfig> claims;
};
StudyHead bind_head(const Value& root, const std::vector<std::string>& series, Problems& problems);

/// report.overlay of one series: { file = "data/x.json", path = ["key", …] }, a JSON object of number → number, with
/// the file's name relative to the study's folder; or { points = [[x, y], …] }. Without points when there is none.
Overlay bind_overlay(const Value& root, const std::string& series, const std::string& folder, Problems& problems);

}  // namespace headroom::experiments
