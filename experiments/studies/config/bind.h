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

/// [task], [model] and [train] of a table in which every swept key has its value. What is wrong goes into `problems`,
/// the resolved value of every number into `numbers`.
TrialConfig bind_trial(const Value& root, int64_t seed, Complaints& problems, std::map<std::string, double>* numbers);

/// The same from an open reader.
void bind_trial(Reader& in, TrialConfig& config);
models::TransformerConfig bind_model(Reader& in);  ///< [model]
TrainConfig bind_train(Reader& in);                ///< [train]

/// Metrics that the trials of one profile may have: all of them, and any. Empty where none could be planned.
struct ReportScope {
  std::set<std::string> everywhere, anywhere;
  std::set<std::string> numbers;  ///< dotted paths of what is a number in every trial: "model.width"
};

/// models::validate() of a model that was read from root's [model]; its problem is told of the file's own key.
void check_model(const Value& root, const models::TransformerConfig& model, Complaints& problems);

/// [study], [report] and the [[claim]]s.
struct StudyInfo {
  std::string id, title, paper, question, guide;
  StudyAnswer answer;
  std::vector<std::string> deviations;  ///< from what the paper did, beside what a profile makes smaller
  ReportConfig report;                  ///< without overlays: each series has its own
  std::vector<ClaimConfig> claims;
  std::vector<std::string> overrides;  ///< settings ("train.steps=10") as given, where they change trials or report
};
StudyInfo bind_info(const Value& root, const StudyScope& scope, const ReportScope& metrics, Complaints& problems);
/// The same from an open reader.
void bind_info(Reader& in, const StudyScope& scope, const ReportScope& metrics, StudyInfo& head);

/// The name of one [[series]], after a check that it overrides nothing but what decides its trials and its overlay.
std::string read_series(const Value& series, const std::vector<std::string>& taken, Complaints& problems);
/// What a [[series]] may hold, for the schema.
void describe_series(Reader& in);

/// [report] without its overlay. A metric that the trials cannot have is a problem.
ReportConfig bind_report(Reader& in, const ReportScope& metrics);

/// report.overlay: "paper-bound", whose points paper_bound_overlay() adds, or { points = [[x, y], …] }. Without points
/// when there is none.
Overlay bind_overlay(Reader& report);

/// What `overlay = "paper-bound"` draws over the trials of one series.
Overlay paper_bound_overlay(const std::vector<PlannedTrial>& trials, const std::string& series);

}  // namespace headroom::experiments
