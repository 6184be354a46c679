#include "experiments/studies/claims/kinds/less_than.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

std::vector<std::pair<const Point*, const Point*>> LessThan::pairs(const Case& c, const Curve& other) const {
  std::vector<std::pair<const Point*, const Point*>> compared;
  for (const Point& p : c.curve.points) {
    if (at && p.x != *at) continue;
    if (const Point* rival = other.at(than.at.value_or(p.x))) compared.emplace_back(&p, rival);
  }
  return compared;
}

void LessThan::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
  const size_t problems = in.problems().size();
  in.optional_table("than", "what is larger; what is not given is the claim's own", [&](Reader& other) {
    than.series = other.text("series", "", "its series");
    than.metric = other.text("metric", "", "its metric");
    than.at = other.optional_real("at", {}, "its x");
    if (!than.series.empty()) scope.check_series(other, "series", than.series);
    scope.check_metric(other, "metric", than.metric, than.series);
    if (than.at) scope.check_x(other, "at", *than.at, than.series);
  });
  has_problem = in.problems().size() > problems;
  if (!has_problem) check_pairs(in, scope);
}

/// Something is compared, and not with itself.
void LessThan::check_pairs(Reader& in, const ClaimScope& scope) const {
  if (!in.has("than") || scope.x().empty() || scope.x(than.series).empty()) return;
  const std::vector<double> own = scope.x(), rivals = scope.x(than.series);
  const bool is_other = (!than.series.empty() && than.series != scope.series()) ||
                        (!than.metric.empty() && than.metric != scope.metric());
  int pairs = 0;
  for (const double x : own) {
    if (at && x != *at) continue;
    const double rival = than.at.value_or(x);
    if (!is_other && rival == x && (at || !than.at)) return in.complain("than", "is what the claim is about itself");
    pairs += std::find(rivals.begin(), rivals.end(), rival) != rivals.end() ? 1 : 0;
  }
  if (pairs == 0) in.complain("than", fmt::format("there is no {} at which both are measured", scope.x_name()));
}

std::optional<MissingKey> LessThan::missing(const ClaimConfig&) const {
  if (!has_problem && than.series.empty() && than.metric.empty() && !than.at)
    return MissingKey{"than", "the series, metric or at of what is larger"};
  return std::nullopt;
}

std::string LessThan::details() const {
  std::string text;
  if (at) text += " at " + exact(*at);
  if (!than.series.empty()) text += " " + than.series;
  if (!than.metric.empty()) text += " " + than.metric;
  if (than.at) text += (at ? " than at " : " at ") + exact(*than.at);
  if (factor != 1) text += fmt::format(" by {}×", exact(factor));
  return text;
}

Curve LessThan::rivals(const Case& c) const {
  if (than.series.empty() && than.metric.empty()) return c.curve;
  return curve_in_range(c.results, than.series.empty() ? c.curve.series : than.series,
                        than.metric.empty() ? c.curve.metric : than.metric, c.claim);
}

Hypothesis LessThan::hypothesis(const Case& c) const {
  const Curve other = rivals(c);
  std::vector<Hypothesis> less;
  for (const auto& [own, rival] : pairs(c, other)) less.push_back(c.at_least(*rival, *own, factor, factor == 1));
  return Hypothesis::all_of(std::move(less));
}

std::optional<Hypothesis> LessThan::judge(const Case& c, Verdict& verdict) const {
  const Curve other = rivals(c);
  const std::vector<std::pair<const Point*, const Point*>> compared = pairs(c, other);
  if (compared.empty()) {
    not_run(verdict, fmt::format("there is no {} at which both were measured", c.axis));
    return std::nullopt;
  }
  const auto ratio_of = [&](const auto& pair) { return c.value(*pair.first) / c.value(*pair.second); };
  const auto worst = std::max_element(compared.begin(), compared.end(),
                                      [&](const auto& a, const auto& b) { return ratio_of(a) < ratio_of(b); });
  const ConfidenceInterval ratio = c.ratio("ratio", *worst->first, *worst->second, compared.size());
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"ratio", ratio_of(*worst)},
                     {"worst_x", worst->first->x},
                     {"pairs", static_cast<double>(compared.size())},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {ratio};
  verdict.measured = ratio_of(*worst);
  verdict.summary = in_brackets(ratio);
  const std::string rival =
      than.series.empty() ? (than.at ? fmt::format("{} = {}", c.axis, exact(*than.at)) : than.metric) : than.series;
  verdict.found =
      fmt::format("at {} it is {}, against {} for {}: {}{}", c.at(*worst->first), rounded(c.value(*worst->first)),
                  rounded(c.value(*worst->second)), rival, in_brackets(ratio),
                  compared.size() > 1 ? fmt::format(", the least clear of {} comparisons", compared.size()) : "");
  verdict.claimed = factor > 1 ? fmt::format("at most {}×", rounded(1 / factor)) : "less";
  return says;
}

}  // namespace headroom::experiments
