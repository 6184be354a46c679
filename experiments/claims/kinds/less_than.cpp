#include "experiments/claims/kinds/less_than.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void LessThan::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
  in.optional_table("than", "what is larger; what is not given is the claim's own", [&](Reader& other) {
    than.series = other.text("series", "", "its series");
    than.metric = other.text("metric", "", "its metric");
    than.at = other.optional_real("at", {}, "its x");
    if (!than.series.empty()) scope.check_series(other, "series", than.series);
    scope.check_metric(other, "metric", than.metric, than.series);
    if (than.at) scope.check_x(other, "at", *than.at, than.series);
  });
  check_pairs(in, scope);
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
  if (than.series.empty() && than.metric.empty() && !than.at)
    return MissingKey{"than", "the series, metric or at of what is larger"};
  return std::nullopt;
}

std::string LessThan::details() const {
  std::string text;
  if (at) text += " at " + exact(*at);
  if (!than.series.empty()) text += " " + than.series;
  if (!than.metric.empty()) text += " " + than.metric;
  if (than.at) text += " at " + exact(*than.at);
  return text;
}

void LessThan::judge(const Case& c, Verdict& verdict) const {
  const Curve other = curve_in_range(c.results, than.series.empty() ? c.curve.series : than.series,
                                     than.metric.empty() ? c.curve.metric : than.metric, c.claim);
  std::vector<std::pair<const Point*, const Point*>> pairs;
  for (const Point& p : c.curve.points) {
    if (at && p.x != *at) continue;
    if (const Point* rival = other.at(than.at.value_or(p.x))) pairs.emplace_back(&p, rival);
  }
  if (pairs.empty()) return not_run(verdict, fmt::format("there is no {} at which both were measured", c.axis));
  double worst_p = 0, worst_ratio = -INFINITY;
  int seeds = pairs[0].first->values.empty() ? 0 : static_cast<int>(pairs[0].first->values.size());
  std::string against;
  // Without noise there is no test: its p is 0 or 1, and says nothing.
  const auto with_p = [&](const char* form, double p) {
    return c.claim.deterministic ? std::string() : fmt::format(fmt::runtime(form), probability(p));
  };
  for (const auto& [left, right] : pairs) {
    const PairedTest test = c.larger(*right, *left);
    const double ratio = c.value(*left) / c.value(*right);
    seeds = std::min(seeds, test.pairs);
    if (!(test.p <= worst_p)) worst_p = test.p;
    if (!(ratio <= worst_ratio)) worst_ratio = ratio;
    const bool enough = factor <= 1 || c.value(*left) * factor <= c.value(*right);
    if (c.significant(test.p) && enough) continue;
    against += fmt::format("at {} {} against {}{}; ", c.at(*left), rounded(c.value(*left)), rounded(c.value(*right)),
                           with_p(" (p = {})", test.p));
  }
  verdict.numbers = {
      {"ratio", worst_ratio}, {"p", worst_p}, {"seeds", seeds}, {"pairs", static_cast<double>(pairs.size())}};
  verdict.measured = worst_ratio;
  verdict.p = worst_p;
  verdict.summary = rounded(worst_ratio) + "×" + with_p(", p = {}", worst_p);
  const bool is_other_metric = than.series.empty() && !than.at;
  const std::string rival =
      than.series.empty() ? (than.at ? fmt::format("{} = {}", c.axis, exact(*than.at)) : than.metric) : than.series;
  if (!against.empty()) against.resize(against.size() - 2);
  verdict.sentence =
      against.empty()
          ? fmt::format("Less than {} in {} of {} comparisons: at most {} times {}{}.", rival, pairs.size(),
                        pairs.size(), rounded(worst_ratio), is_other_metric ? "as large" : "its " + c.curve.metric,
                        with_p(" (largest p = {})", worst_p))
          : fmt::format("Not less than {}{}: {}.", rival,
                        factor > 1 ? fmt::format(" by a factor of {}", exact(factor)) : "", against);
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (seeds < static_cast<int>(c.wanted_seeds())) too_few_seeds(c, verdict, static_cast<size_t>(seeds));
}

}  // namespace headroom::experiments
