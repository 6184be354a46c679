#pragma once
#include <map>
#include <string>
#include <vector>

#include "experiments/claims/claim_config.h"
#include "experiments/config/trial_config.h"
#include "experiments/results.h"
#include "experiments/toml/problems.h"
#include "experiments/toml/value.h"

namespace headroom::experiments {

class Reader;
struct PlannedTrial;

/// [task], [model] and [train] of a table in which every swept key has its value. What is wrong goes into `problems`,
/// the resolved value of every number into `numbers`.
TrialConfig bind_trial(const Value& root, int64_t seed, Problems& problems, std::map<std::string, double>* numbers);

/// The same from an open reader.
void bind_trial(Reader& in, TrialConfig& config);
models::TransformerConfig bind_model(Reader& in);  ///< [model]
TrainConfig bind_train(Reader& in);                ///< [train]

/// [study], [report] and the [[claim]]s.
struct StudyHead {
  std::string id, title, paper;
  ReportConfig report;  ///< without overlays: each series has its own
  std::vector<ClaimConfig> claims;
};
StudyHead bind_head(const Value& root, const std::vector<std::string>& series, const std::string& folder,
                    Problems& problems);
/// The same from an open reader.
void bind_head(Reader& in, const std::vector<std::string>& series, const std::string& folder, StudyHead& head);

/// [report] without its overlay.
ReportConfig bind_report(Reader& in);

/// report.overlay: "paper-bound", whose points paper_bound_overlay() adds; or { file = "data/x.json", path = ["key", …]
/// }, a JSON object of number → number, with the file's name relative to `folder`, the study's; or { points = [[x, y],
/// …] }. Without points when there is none.
Overlay bind_overlay(Reader& report, const std::string& folder);

/// What `overlay = "paper-bound"` draws over the trials of one series.
Overlay paper_bound_overlay(const std::vector<PlannedTrial>& trials, const std::string& series);

}  // namespace headroom::experiments
