#include "experiments/studies/claims/kinds/band.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"

namespace headroom::experiments {
namespace {

/// "[2, 3]", "at least 2", "at most 3".
std::string claimed_limits(const Limits& limits) {
  if (limits.low && limits.high) return fmt::format("between {} and {}", exact(*limits.low), exact(*limits.high));
  return limits.low ? fmt::format("at least {}", exact(*limits.low)) : fmt::format("at most {}", exact(*limits.high));
}

/// A value that the claim is about, and where it stands.
struct Level {
  const Point* point;
  Estimate value;
};

/// The mean at each x; every seed's value where they are computed.
std::vector<Level> levels(const Case& c) {
  std::vector<Level> all;
  for (const Point& p : c.curve.points) {
    if (!c.claim.deterministic) all.push_back({&p, c.combine({{&p, 1}})});
    else
      for (const auto& entry : p.values) all.push_back({&p, Estimate::computed(entry.second)});
  }
  return all;
}

}  // namespace

void Band::read(Reader& in, const ClaimScope&) { limits = read_limits(in); }

std::optional<MissingKey> Band::missing(const ClaimConfig&) const {
  if (!limits.any()) return MissingKey{"low", "low, high or both: the band"};
  return std::nullopt;
}

std::string Band::details() const { return limits.any() ? " " + interval(limits) : ""; }

Hypothesis Band::hypothesis(const Case& c) const {
  std::vector<Hypothesis> sides;
  for (const Level& level : levels(c)) {
    if (limits.low) sides.push_back(Hypothesis::at_least(level.value, *limits.low));
    if (limits.high) sides.push_back(Hypothesis::at_most(level.value, *limits.high));
  }
  return Hypothesis::all_of(std::move(sides));
}

std::optional<Hypothesis> Band::judge(const Case& c, Verdict& verdict) const {
  const std::vector<Level> all = levels(c);
  const Level *least = &all.front(), *most = &all.front();
  for (const Level& level : all) {
    if (level.value.value < least->value.value) least = &level;
    if (level.value.value > most->value.value) most = &level;
  }
  const ConfidenceInterval low = c.interval("least", least->value, all.size());
  const ConfidenceInterval high = c.interval("most", most->value, all.size());
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"least", low.value},
                     {"least_x", least->point->x},
                     {"most", high.value},
                     {"most_x", most->point->x},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {low, high};
  // What is claimed decides what is measured: the upper limit, or the lower one.
  verdict.measured = limits.high ? high.value : low.value;
  const auto text = [](const ConfidenceInterval& value, const std::optional<double>& limit) {
    const std::string number = rounded_beside(value.value, limit);
    return std::isnan(value.low) ? number
                                 : fmt::format("{} [{}, {}]", number, rounded_beside(value.low, limit),
                                               rounded_beside(value.high, limit));
  };
  const std::string from = text(low, limits.low), to = text(high, limits.high);
  const bool is_named = !c.claim.metric.empty() && c.claim.metric != c.results.report.y_metric;
  const std::string of = is_named ? " of " + c.curve.metric : "";
  const std::string what = (c.claim.deterministic ? "values" : "means") + of;
  verdict.summary = least == most ? (limits.high ? to : from) : fmt::format("{} … {}", from, to);
  const std::string one = limits.high ? to : from;
  verdict.found = least == most && c.curve.points.size() == 1 && !c.claim.deterministic
                      ? fmt::format("at {} the mean{} is {}", c.at(*least->point), of, one)
                  : low.value == high.value ? fmt::format("all {} are {}", what, one)
                                            : fmt::format("the {} lie between {} at {} and {} at {}", what, from,
                                                          c.at(*least->point), to, c.at(*most->point));
  verdict.claimed = claimed_limits(limits);
  return says;
}

}  // namespace headroom::experiments
