#include "experiments/studies/analysis/kinds/kind.h"

#include <set>

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

double read_factor(Reader& in) {
  return in.real("factor", 1.0, at_least(1),
                 "the smallest ratio that counts: values claimed to differ do so by at least this, those claimed to be "
                 "alike by at most");
}

double read_percent(Reader& in) {
  return in.real("percent", 0.0, at_least(0), "how far from the target at most, or from a straight line at least");
}

Limits read_limits(Reader& in) {
  Limits limits;
  limits.low = in.optional_real("low", {}, "smallest that is claimed");
  limits.high = in.optional_real("high", {}, "largest that is claimed");
  if (limits.low && limits.high && *limits.low > *limits.high) in.complain("high", "must be at least low");
  return limits;
}

std::string read_rival(Reader& in, const ClaimScope& scope) {
  std::string rival;
  in.optional_table("than", "the series that it is compared with", [&](Reader& other) {
    rival = other.text("series", "", "its series");
    if (!rival.empty()) scope.check_series(other, "series", rival);
  });
  if (!rival.empty() && rival == scope.series()) in.complain("than", "is what the claim is about itself");
  return rival;
}

std::pair<const Point&, const Point&> ordered(const Case& c, const Point& left, const Point& right) {
  if (c.claim.keys.direction == "falling") return {left, right};
  return {right, left};
}

std::string list_of(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double x : values) texts.push_back(exact(x));
  return values.empty() ? "" : fmt::format(" [{}]", fmt::join(texts, ", "));
}

std::string sized(const char* sign, double factor) {
  return factor > 1 ? fmt::format(" {} {}×", sign, exact(factor)) : "";
}

}  // namespace headroom::experiments
