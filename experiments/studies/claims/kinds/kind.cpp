#include "experiments/studies/claims/kinds/kind.h"

#include <fmt/format.h>

#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

std::optional<double> read_at(Reader& in, const ClaimScope& scope) {
  const std::optional<double> at = in.optional_real("at", {}, "the x that is judged");
  if (at) scope.check_x(in, "at", *at);
  return at;
}

std::vector<double> read_among(Reader& in, const ClaimScope& scope) {
  const std::vector<double> among = in.numbers("among", "the x that may be the best");
  for (const double x : among) scope.check_x(in, "among", x);
  if (std::set<double>(among.begin(), among.end()).size() < among.size()) in.complain("among", "names one x twice");
  return among;
}

double read_factor(Reader& in, double fallback) {
  return in.real("factor", fallback, at_least(1),
                 "the smallest ratio that counts: values that are claimed to differ differ by at least this, those "
                 "claimed to be alike by at most");
}

Limits read_limits(Reader& in) {
  Limits limits;
  limits.low = in.optional_real("low", {}, "smallest that is claimed");
  limits.high = in.optional_real("high", {}, "largest that is claimed");
  if (limits.low && limits.high && *limits.low > *limits.high) in.complain("high", "must be at least low");
  return limits;
}

std::string interval(const Limits& limits) {
  return fmt::format("[{}, {}]", limits.low ? exact(*limits.low) : "−∞", limits.high ? exact(*limits.high) : "∞");
}

std::string list_of(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double x : values) texts.push_back(exact(x));
  return values.empty() ? "" : fmt::format(" [{}]", fmt::join(texts, ", "));
}

}  // namespace headroom::experiments
