#pragma once
// What the file of a kind needs: its base, the case that it judges, and the keys that several kinds read alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/claims/claim_kind.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// `at`: the x that is judged.
std::optional<double> read_at(Reader& in, const ClaimScope& scope);
/// `among`: the x that may be the best.
std::vector<double> read_among(Reader& in, const ClaimScope& scope);
/// `factor`, a ratio of errors.
double read_factor(Reader& in);
/// `percent`.
double read_percent(Reader& in);
/// `low` and `high`.
Limits read_limits(Reader& in);
/// `than = { series = … }`: another series.
std::string read_rival(Reader& in, const ClaimScope& scope);

/// Two points at growing x, the one first that has the larger value where they go in the claim's `direction`.
std::pair<const Point&, const Point&> ordered(const Case& c, const Point& left, const Point& right);

/// " [1, 2, 4]"; "" for none.
std::string list_of(const std::vector<double>& values);
/// The factor behind a sign, " ≥ 1.1×"; "" where any difference counts.
std::string sized(const char* sign, double factor);

}  // namespace headroom::experiments
