#pragma once
#include <string>

namespace headroom::experiments {

/// The smallest ratio that matters where a study has no reason for another: 1.1 for errors that span decades, 1.01 for
/// losses in nats ("cross_entropy", "val/loss"), perplexities and accuracies, by any of their names ("Test Acc",
/// "ppl").
double standard_effect(const std::string& metric);

/// Whether a text names the effect: "1.25 times", "1.25×", "a factor of 1.25", "1/1.25" or, what it is more than 1,
/// "25 %".
bool names_effect(const std::string& text, double factor);

}  // namespace headroom::experiments
