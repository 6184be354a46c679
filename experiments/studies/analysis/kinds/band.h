#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// At every x the mean lies within `low` and `high`: a test of each mean against each limit. Where values are computed
/// or counted, and not on parts of a text, every seed's value does.
struct Band : ClaimKind {
  Band()
      : ClaimKind({.name = "band",
                   .form = Form::band,
                   .numbers = {"least", "least_x", "most", "most_x", "seeds"},
                   .required = {{"low", "low, high or both: the band"}}}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.limits = read_limits(in); }

  std::string details(const ClaimKeys& keys) const override {
    return keys.limits.any() ? " " + interval(keys.limits) : "";
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    std::vector<Hypothesis> all;
    for (const Level& level : levels(c)) all.push_back(Hypothesis::within(level.value, c.claim.keys.limits));
    return Hypothesis::all_of(std::move(all));
  }

  Finding measure(const Case& c) const override {
    const Limits& limits = c.claim.keys.limits;
    const std::vector<Level> all = levels(c);
    const auto is_less = [](const Level& a, const Level& b) { return a.value.value < b.value.value; };
    const Level& least = *std::min_element(all.begin(), all.end(), is_less);
    const Level& most = *std::max_element(all.begin(), all.end(), is_less);
    ConfidenceInterval low = c.interval("least", least.value, all.size(), {.low = limits.low});
    ConfidenceInterval high = c.interval("most", most.value, all.size(), {.high = limits.high});
    low.of = c.place(*least.point);
    high.of = c.place(*most.point);
    // The claim decides which of the two says most: the one beside the upper limit, or beside the lower.
    return {.measured = limits.high ? high.value : low.value,
            .values = {low.value, low.of.x, high.value, high.of.x},
            .intervals = {low, high},
            .points = {c.place(c.curve.points.front()), c.place(c.curve.points.back())}};
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
      if (!c.is_computed()) all.push_back({&p, c.combine({{&p, 1}})});
      else
        for (const auto& entry : p.values) all.push_back({&p, Estimate::computed(entry.second)});
    }
    return all;
  }
};

}  // namespace headroom::experiments
