#include "experiments/claims/kinds/kind.h"

#include <fmt/format.h>

#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

std::optional<double> read_at(Reader& in, const ClaimScope& scope) {
  const std::optional<double> at = in.optional_real("at", {}, "the x that is judged");
  if (at) scope.check_x(in, "at", *at);
  return at;
}

double read_factor(Reader& in, double fallback) {
  return in.real("factor", fallback, at_least(1),
                 "how near the best, or by how much at least two errors must differ; band: of the "
                 "largest value to the smallest");
}

Limits read_limits(Reader& in) {
  Limits limits;
  limits.low = in.optional_real("low", {}, "smallest that is claimed");
  limits.high = in.optional_real("high", {}, "largest that is claimed");
  if (limits.low && limits.high && *limits.low > *limits.high) in.complain("high", "wants to be at least low");
  return limits;
}

std::string interval(const Limits& limits) {
  return fmt::format("[{}, {}]", limits.low ? exact(*limits.low) : "−∞", limits.high ? exact(*limits.high) : "∞");
}

}  // namespace headroom::experiments
