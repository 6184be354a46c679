#pragma once
#include <functional>
#include <optional>
#include <string>

#include "experiments/studies/claims/claim_config.h"

namespace headroom::experiments {

class ClaimScope;
class Reader;

// A claim's `why` holds places that measured numbers fill:
//   {ratio}                     one of the verdict's own numbers
//   {cross_entropy @ 16}        the mean of a metric at x = 16 of the claim's series
//   {perplexity @ 16 of plain}  the same of another series
//   {ratio %}                   100 times the number
// A brace behind ^ or _ belongs to a formula: e^{2 Delta}.

/// Reports a place in `claim.why` that no measurement of the study could fill.
void check_why(Reader& in, const ClaimConfig& claim, const ClaimScope& scope);

/// What stands between braces.
struct WhyPlace {
  std::string name, series;
  std::optional<double> x;
  bool is_percent = false, is_wrong = false;
};

/// `why` with each place filled by what `number_at` gives for it; "—" where that is NaN.
std::string filled_in(const std::string& why, const std::function<double(const WhyPlace&)>& number_at);

}  // namespace headroom::experiments
