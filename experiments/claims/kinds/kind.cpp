#include "experiments/claims/kinds/kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

std::optional<double> read_at(Reader& in) { return in.optional_real("at", {}, "the x that is judged"); }

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

void check_series(Reader& in, const std::string& name, const std::vector<std::string>& series) {
  if (std::find(series.begin(), series.end(), name) != series.end()) return;
  const bool has_any = series != std::vector<std::string>{""};
  in.complain("series", fmt::format("there is no series \"{}\"; the study has {}", name,
                                    has_any ? fmt::format("{}", fmt::join(series, ", ")) : "one without a name"));
}

std::string interval(const Limits& limits) {
  return fmt::format("[{}, {}]", limits.low ? exact(*limits.low) : "−∞", limits.high ? exact(*limits.high) : "∞");
}

}  // namespace headroom::experiments
