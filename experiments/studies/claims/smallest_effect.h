#pragma once
#include <optional>
#include <string>

#include "experiments/studies/claims/claim_config.h"

namespace headroom::experiments {

/// The smallest ratio that matters where a study has no reason for another: 1.1 for errors that span decades, 1.01 for
/// losses in nats ("cross_entropy", "…_loss"), perplexities and accuracies.
double standard_effect(const std::string& metric);

/// The claim's `factor`; none for kinds without one.
std::optional<double> stated_effect(const ClaimConfig& claim);

/// Whether a text names the effect: "1.25 times", "1.25×", "a factor of 1.25", "1/1.25" or, what it is more than 1,
/// "25 %".
bool names_effect(const std::string& text, double factor);

/// Whether a claim on `metric` states an effect that is not the standard one, and its words do not name it: then a
/// reader has to be told why (`because`).
bool needs_reason(const ClaimConfig& claim, const std::string& metric);

}  // namespace headroom::experiments
