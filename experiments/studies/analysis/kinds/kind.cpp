#include "experiments/studies/analysis/kinds/kind.h"

#include <set>

namespace headroom::experiments {

Limits ClaimKind::limits(const ClaimKeys& keys, const std::string& interval, bool larger_is_better) const {
  if (effect == Effect::neither || !interval.starts_with("ratio") || interval.ends_with("_difference")) return {};
  // A ratio is that of the values: where more is better, the worse one is the smaller.
  const bool is_lower = (effect == Effect::at_least) != larger_is_better;
  const double limit = larger_is_better ? 1 / keys.factor : keys.factor;
  return is_lower ? Limits{.low = limit} : Limits{.high = limit};
}

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
                 "the smallest ratio that counts: values that are claimed to differ differ by at least this, those "
                 "claimed to be alike by at most");
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

std::string as_bad(double factor) {
  return factor > 1 ? fmt::format("at least {} times as bad", exact(factor)) : "worse";
}

std::string needs_worse(const Case& c) {
  const double factor = c.claim.keys.factor;
  if (factor == 1) return c.curve.larger_is_better ? "needs < 1×" : "needs > 1×";
  return c.curve.larger_is_better ? fmt::format("needs ≤ {}×", rounded(1 / factor))
                                  : fmt::format("needs ≥ {}×", exact(factor));
}

std::string needs_near(const Case& c) {
  const double factor = c.claim.keys.factor;
  return c.curve.larger_is_better ? fmt::format("needs ≥ {}×", rounded(1 / factor))
                                  : fmt::format("needs ≤ {}×", exact(factor));
}

std::string interval(const Limits& limits) {
  return fmt::format("[{}, {}]", limits.low ? exact(*limits.low) : "−∞", limits.high ? exact(*limits.high) : "∞");
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
