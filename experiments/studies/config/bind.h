#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/studies/claims/claim_config.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/results.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

class Reader;
struct PlannedTrial;

/// Reads [task], [model] and [train] of a table in which every swept key has its value. Adds errors to `problems` and
/// the resolved value of every number to `numbers`.
TrialConfig bind_trial(const Value& root, int64_t seed, Complaints& problems, std::map<std::string, double>* numbers);

/// The same from an open reader.
void bind_trial(Reader& in, TrialConfig& config);
models::TransformerConfig bind_model(Reader& in);  ///< [model]
TrainConfig bind_train(Reader& in);                ///< [train]

/// The metrics that a profile's trials may have: in all of them, and in any. Empty if none could be planned.
struct ReportScope {
  std::set<std::string> everywhere, anywhere;
  std::set<std::string> numbers;  ///< dotted paths of keys that are numbers in every trial: "model.width"
};

/// Checks the model read from root's [model] with models::validate(); reports problems under the file's own key.
void check_model(const Value& root, const models::TransformerConfig& model, Complaints& problems);

/// [study], [report] and the [[claim]]s.
struct StudyInfo {
  std::string id, title, paper, question, guide;
  StudyAnswer answer;
  std::vector<std::string> deviations;  ///< from the paper, beyond a profile's smaller sizes
  ReportConfig report;                  ///< without overlays: those belong to the series
  std::vector<ClaimConfig> claims;
  std::vector<std::string> overrides;  ///< settings as given ("train.steps=10") that change trials or report
};
StudyInfo bind_info(const Value& root, const StudyScope& scope, const ReportScope& metrics, Complaints& problems);
/// The same from an open reader.
void bind_info(Reader& in, const StudyScope& scope, const ReportScope& metrics, StudyInfo& head);

/// Returns the name of one [[series]], after checking that it overrides only what decides its trials and its overlay.
std::string read_series(const Value& series, const std::vector<std::string>& taken, Complaints& problems);
/// Describes a [[series]] for the schema.
void describe_series(Reader& in);

/// Reads [report] without its overlay. Metrics that the trials cannot have are problems.
ReportConfig bind_report(Reader& in, const ReportScope& metrics);

/// report.overlay: "paper-bound", whose points paper_bound_overlay() adds, or { points = [[x, y], …] }. Without points
/// when there is none.
Overlay bind_overlay(Reader& report);

/// The "paper-bound" overlay for the trials of one series.
Overlay paper_bound_overlay(const std::vector<PlannedTrial>& trials, const std::string& series);

}  // namespace headroom::experiments
