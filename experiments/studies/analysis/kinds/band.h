#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// At every x the mean lies within `low` and `high`: a test of each mean against each limit. Where values are computed
/// or counted, every seed's value does.
struct Band : ClaimKind {
  Band() : ClaimKind({.name = "band", .numbers = {"least", "least_x", "most", "most_x", "seeds"}}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.limits = read_limits(in); }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(claim.keys.limits.any(), "low", "low, high or both: the band");
  }

  std::string details(const ClaimKeys& keys) const override {
    return keys.limits.any() ? " " + interval(keys.limits) : "";
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const Limits& limits = c.claim.keys.limits;
    std::vector<Hypothesis> sides;
    for (const Level& level : levels(c)) {
      if (limits.low) sides.push_back(Hypothesis::at_least(level.value, *limits.low));
      if (limits.high) sides.push_back(Hypothesis::at_most(level.value, *limits.high));
    }
    return Hypothesis::all_of(std::move(sides));
  }

  Limits limits(const ClaimKeys& keys, const std::string& interval, bool) const override {
    return interval == "least" ? Limits{.low = keys.limits.low} : Limits{.high = keys.limits.high};
  }

  std::string measure(const Case& c, Verdict& verdict) const override {
    const Limits& limits = c.claim.keys.limits;
    const std::vector<Level> all = levels(c);
    const auto is_less = [](const Level& a, const Level& b) { return a.value.value < b.value.value; };
    const Level& least = *std::min_element(all.begin(), all.end(), is_less);
    const Level& most = *std::max_element(all.begin(), all.end(), is_less);
    const ConfidenceInterval low = c.interval("least", least.value, all.size());
    const ConfidenceInterval high = c.interval("most", most.value, all.size());
    verdict.numbers = {
        {"least", low.value}, {"least_x", least.point->x}, {"most", high.value}, {"most_x", most.point->x}};
    verdict.intervals = {low, high};
    // What is claimed decides what is measured: the upper limit, or the lower one.
    verdict.measured = limits.high ? high.value : low.value;
    const auto text = [](const ConfidenceInterval& value, const std::optional<double>& limit) {
      const std::string number = rounded_beside(value.value, limit);
      return std::isnan(value.low) ? number
                                   : fmt::format("{} [{}, {}]", number, rounded_beside(value.low, limit),
                                                 rounded_beside(value.high, limit));
    };
    const std::string from = text(low, limits.low), to = text(high, limits.high), one = limits.high ? to : from;
    const bool is_named = !c.claim.metric.empty() && c.claim.metric != c.study.report.y_metric;
    const std::string of = is_named ? " of " + c.curve.metric : "";
    const std::string what = (c.claim.deterministic ? "values" : "means") + of;
    verdict.summary = &least == &most ? one : fmt::format("{} … {}", from, to);
    verdict.found = &least == &most && c.curve.points.size() == 1 && !c.claim.deterministic
                        ? fmt::format("at {} the mean{} is {}", c.at(*least.point), of, one)
                    : low.value == high.value ? fmt::format("all {} are {}", what, one)
                                              : fmt::format("the {} lie between {} at {} and {} at {}", what, from,
                                                            c.at(*least.point), to, c.at(*most.point));
    verdict.claimed = limits.low && limits.high
                          ? fmt::format("between {} and {}", exact(*limits.low), exact(*limits.high))
                      : limits.low ? fmt::format("at least {}", exact(*limits.low))
                                   : fmt::format("at most {}", exact(*limits.high));
    verdict.brief = {fmt::format("{}: {}", c.label(*least.point), from)};
    if (&least != &most) verdict.brief.push_back(fmt::format("{}: {}", c.label(*most.point), to));
    verdict.brief.push_back("needs " + (limits.low && limits.high ? interval(limits)
                                        : limits.low              ? "≥ " + exact(*limits.low)
                                                                  : "≤ " + exact(*limits.high)));
    return "";
  }

 private:
  /// A value that the claim is about, and where it stands.
  struct Level {
    const Point* point;
    Estimate value;
  };

  /// The mean at each x; every seed's value where they are computed.
  static std::vector<Level> levels(const Case& c) {
    std::vector<Level> all;
    for (const Point& p : c.curve.points) {
      if (!c.claim.deterministic) all.push_back({&p, c.combine({{&p, 1}})});
      else
        for (const auto& entry : p.values) all.push_back({&p, Estimate::computed(entry.second)});
    }
    return all;
  }
};

}  // namespace headroom::experiments
