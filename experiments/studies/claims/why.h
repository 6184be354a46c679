#pragma once
#include <string>

#include "experiments/studies/claims/claims.h"

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

/// `claim.why` of a verdict whose numbers are there, on a series; "—" where something was not measured.
std::string filled_in(const Verdict& verdict, const StudyResults& results, const std::string& series);

}  // namespace headroom::experiments
