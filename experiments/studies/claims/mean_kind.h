#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// The mean over seeds by which choices are made and which pages show. geometric: of ratios of errors, as verdicts
/// compare them; one seed that failed to train does not outweigh all others.
enum class MeanKind { geometric, arithmetic };

/// geometric, but for values that are not all positive, for metrics of which more is better, for shares, and where a
/// claim on the metric says `log_error = false`.
MeanKind mean_kind(const StudyResults& results, const std::string& metric, const std::vector<double>& values);

/// That mean; NaN when empty.
double mean(const std::vector<double>& values, MeanKind kind);

}  // namespace headroom::experiments
