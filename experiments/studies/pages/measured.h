#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/curve.h"
#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// The curve of any test metric, at the choices that the study's own metric made on validation. A trial that lacks the
/// metric, or whose value is not finite, is in no mean. `best` is the largest where more is better.
Curve metric_curve(const StudyResults& results, const std::string& series, const std::string& metric);

/// The finished trials at one x of a series with one choice, in order of their seeds.
std::vector<const TrialRecord*> chosen_trials(const StudyResults& results, const std::string& series,
                                              const Point& point);

/// The metrics that a report shows: its own, the second in its figure, further ones.
std::vector<Measure> shown_measures(const ReportConfig& report);

}  // namespace headroom::experiments
