#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/claims.h"
#include "experiments/config/bind.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

void check_series(Reader& in, const std::string& name, const std::vector<std::string>& series) {
  if (name.empty() && series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})", fmt::join(series, ", ")));
  else if (!name.empty() && std::find(series.begin(), series.end(), name) == series.end())
    in.complain("series", fmt::format("there is no series \"{}\"; the study has {}", name, fmt::join(series, ", ")));
}

}  // namespace

ClaimConfig bind_claim(Reader& in, const std::vector<std::string>& series) {
  ClaimConfig claim;
  claim.kind = in.word("kind", std::nullopt, claim_kinds(), "how it is judged");
  claim.series = in.text("series", {"", "the only one"}, "the series it speaks of");
  check_series(in, claim.series, series);
  claim.paper = in.text("paper", "", "the paper's claim in words");
  claim.ours = in.text("ours", "", "a claim of our own in words");
  claim.why = in.text("why", "", "why it fails, shown where it does");
  claim.among = in.numbers("among", "argmin_in: the x that may be the best");
  if (claim.kind == "argmin_in" && !in.has("among"))
    in.complain("among", "missing: argmin_in wants the x that may be the best");
  claim.at = in.optional_real("at", {}, "within_factor: the x whose error must be near the best");
  if (claim.kind == "within_factor" && !claim.at) in.complain("at", "missing: within_factor wants the x to be judged");
  claim.factor = in.real("factor", claim.factor, at_least(1),
                         "within_factor: how near; interior_optimum: how much worse the ends must be");
  claim.significance = in.real("significance", claim.significance,
                               {.low = 0, .high = 1, .low_open = true, .high_open = true}, "level of the tests");
  claim.log_error = in.flag("log_error", claim.log_error, "tests on the logarithm of the metric");
  return claim;
}

}  // namespace headroom::experiments
