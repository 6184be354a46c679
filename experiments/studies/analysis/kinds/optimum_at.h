#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The best x is one of those named (`among`, or those from `low` to `high`): every other x is at least `factor` times
/// as bad as one of them. All rivals, each by its own test, so that nothing depends on which of them looks best. What
/// is smaller than `factor` does not count against it either: it is refuted where `factor` times some rival is still no
/// worse than all that are named. A computed tie counts for the claim.
struct OptimumAt : ClaimKind {
  OptimumAt()
      : ClaimKind({.name = "optimum_at",
                   .form = Form::optimum,
                   .numbers = {"argmin", "claimed_x", "rival_x", "ratio", "seeds"},
                   .required = {{"among", "the x that may be the best, or low, high or both"}},
                   .compares = true}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.among = read_among(in, scope);
    keys.limits = read_limits(in);
    keys.factor = read_factor(in);
    if (!keys.limits.any()) return;
    const std::string first = keys.limits.low ? "low" : "high";
    if (!keys.among.empty()) in.complain(first, "expected either among or a range, low to high");
    const std::vector<double> x = scope.x();
    const auto inside = std::count_if(x.begin(), x.end(), [&](double one) { return is_in(keys.limits, one); });
    if (!x.empty() && (inside == 0 || inside == std::ssize(x)))
      in.complain(first, fmt::format("{} of {} in the sweep is in {}", inside == 0 ? "no value" : "every value",
                                     scope.x_name(), interval(keys.limits)));
  }

  std::string details(const ClaimKeys& keys) const override {
    return (keys.among.empty() ? " " + interval(keys.limits) : list_of(keys.among)) + sized("by", keys.factor);
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const ClaimKeys& keys = c.claim.keys;
    const std::vector<double> named = named_x(c);
    const auto are_worse_by = [&](double times) {
      std::vector<Hypothesis> rivals;
      for (const Point* rival : c.points(named)) {
        std::vector<Hypothesis> beaten;
        for (const double x : named)
          beaten.push_back(c.curve.larger_is_better ? c.at_least(*c.curve.at(x), *rival, times)
                                                    : c.at_least(*rival, *c.curve.at(x), times));
        rivals.push_back(Hypothesis::any_of(std::move(beaten)));
      }
      return Hypothesis::all_of(std::move(rivals));
    };
    if (keys.factor == 1) return are_worse_by(1);
    return Hypothesis::between(are_worse_by(keys.factor), are_worse_by(1 / keys.factor));
  }

  Finding measure(const Case& c) const override {
    const ClaimKeys& keys = c.claim.keys;
    const std::vector<double> named = named_x(c);
    std::vector<const Point*> claimed;
    for (double x : named) {
      claimed.push_back(c.curve.at(x));
      if (!claimed.back()) fail("{} = {} is no point of the sweep", c.axis, exact(x));
    }
    if (claimed.empty()) fail("no {} was measured in {}", c.axis, interval(keys.limits));
    const std::vector<const Point*> others = c.points(named);
    if (others.empty()) fail("there is no other value to compare with");
    const Point &inside = c.best(claimed), &rival = c.best(others), &best = c.best(c.points());
    return {.measured = best.x,
            .values = {best.x, inside.x, rival.x, c.value(rival) / c.value(inside)},
            .intervals = {c.ratio("ratio", rival, inside, others.size() * named.size(), c.worse_limits())}};
  }

 private:
  static bool is_in(const Limits& limits, double x) {
    return !(limits.low && x < *limits.low) && !(limits.high && x > *limits.high);
  }

  /// The x that may be the best.
  static std::vector<double> named_x(const Case& c) {
    const ClaimKeys& keys = c.claim.keys;
    if (!keys.among.empty()) return keys.among;
    std::vector<double> named;
    for (const Point& p : c.curve.points)
      if (is_in(keys.limits, p.x)) named.push_back(p.x);
    return named;
  }
};

}  // namespace headroom::experiments
