#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The steps that a series needs to reach the value are within `low` and `high` times those that another needs. Each x
/// is a training of its own, with a schedule that ends there. The steps are read off seed by seed, on the straight line
/// between two x on log–log axes; where the last x has not reached the value, they are more than that, and where the
/// first one has, at most that: such a seed speaks for one side of the claim alone.
struct StepsRatio : ClaimKind {
  StepsRatio()
      : ClaimKind({.name = "steps_ratio",
                   .form = Form::steps,
                   .numbers = {"ratio", "steps", "other_steps", "seeds"},
                   .required = {{"value", "what the metric is to reach"},
                                {"than", "the series that it is compared with"},
                                {"low", "low, high or both: how many times the steps"},
                                {"log_error", "logarithms: it compares ratios"}},
                   .compares = true,
                   .least_points = 2,
                   .what = "the steps to a value"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.value = in.optional_real("value", {}, "what the metric is to reach");
    keys.limits = read_limits(in);
    keys.than.series = read_rival(in, scope);
    for (const auto& [key, number] :
         {std::pair{"value", keys.value}, {"low", keys.limits.low}, {"high", keys.limits.high}})
      if (number && !(*number > 0)) in.complain(key, fmt::format("{} has no logarithm", exact(*number)));
    if (scope.x().empty()) return;
    if (scope.x_name() != "steps")
      in.complain("kind", fmt::format("compares steps, and the report's x is {}", scope.x_name()));
    if (scope.x(keys.than.series).size() < least_points)
      in.complain("than", fmt::format("{} needs {} values of {} there, too", what, least_points, scope.x_name()));
  }

  std::string details(const ClaimKeys& keys) const override {
    return fmt::format(" {} {}{}", interval(keys.limits), keys.than.series,
                       keys.value ? " to " + exact(*keys.value) : "");
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const Curve other = c.rivals();
    const Point own = steps_to(c, c.curve), rival = steps_to(c, other);
    const Estimate ratio = c.combine({{&own, 1}, {&rival, -1}}, true);
    std::vector<const Point*> without_end;
    if (!own.may_be_more.empty()) without_end.push_back(&c.curve.points.back());
    if (!rival.may_be_more.empty()) without_end.push_back(&other.points.back());
    Limits logs = c.claim.keys.limits;
    for (std::optional<double>* limit : {&logs.low, &logs.high})
      if (*limit) *limit = std::log(**limit);
    return Hypothesis::within(ratio, logs).with(c.reservations(without_end));
  }

  Finding measure(const Case& c) const override {
    const Curve other = c.rivals();
    const Point own = steps_to(c, c.curve), rival = steps_to(c, other);
    if (own.values.empty() || rival.values.empty()) fail("no seed has been measured at every x of a series");
    const auto shown = [&](double a, double b) {
      return exponential(c.interval("ratio", c.combine({{&own, a}, {&rival, b}}, true), 1, c.claim.keys.limits));
    };
    const auto taken = [&](const Point& steps, const std::string& series, const ConfidenceInterval& mean) {
      const size_t bounds = steps.may_be_more.size() + steps.may_be_less.size();
      return MeasuredPoint{
          .value = mean.value, .whose = series, .sign = mean.sign, .bounds = bounds, .seeds = steps.values.size()};
    };
    ConfidenceInterval ratio = shown(1, -1);
    ratio.of = taken(own, c.curve.series, shown(1, 0));
    ratio.to = taken(rival, other.series, shown(0, 1));
    return {.measured = ratio.value, .values = {ratio.value, ratio.of.value, ratio.to.value}, .intervals = {ratio}};
  }

 private:
  /// The steps of each seed that has a value at every x, with the parts of the test data to first order.
  static Point steps_to(const Case& c, const Curve& curve) {
    const std::vector<Point>& points = curve.points;
    Point found;
    for (const Point& p : points) found.of.insert(found.of.end(), p.of.begin(), p.of.end());
    for (const auto& entry : points.front().values) {
      const int64_t seed = entry.first;
      if (std::any_of(points.begin(), points.end(), [&](const Point& p) { return !p.values.contains(seed); })) continue;
      const auto after = std::find_if(points.begin(), points.end(), [&](const Point& p) {
        return !curve.better(*c.claim.keys.value, p.values.at(seed));
      });
      if (after == points.begin()) found.may_be_less.insert(seed);
      if (after == points.end()) found.may_be_more.insert(seed);
      if (after == points.begin() || after == points.end()) {
        const Point& end = after == points.begin() ? points.front() : points.back();
        add(found, seed, std::log(end.x), {{&end, 0}});
        continue;
      }
      const Point &low = *(after - 1), &high = *after;
      const double first = std::log(low.values.at(seed)), fall = first - std::log(high.values.at(seed));
      const double share = (first - std::log(*c.claim.keys.value)) / fall, way = std::log(high.x) - std::log(low.x);
      add(found, seed, std::log(low.x) + share * way, {{&low, (1 - share) * way / fall}, {&high, share * way / fall}});
    }
    return found;
  }

  /// A seed's steps, which move by each weight times the change of a point's logarithm.
  static void add(Point& found, int64_t seed, double log_steps, const Terms& terms) {
    const double steps = std::exp(log_steps);
    found.values[seed] = steps;
    std::vector<double> parts;
    for (const auto& [point, weight] : terms) {
      const auto measured = point->parts.find(seed);
      if (measured == point->parts.end()) return;
      const std::vector<double>& of_point = measured->second;
      if (parts.empty()) parts.assign(of_point.size(), steps);
      if (parts.size() != of_point.size()) return;
      for (size_t k = 0; k < parts.size(); ++k) parts[k] += steps * weight * (of_point[k] / point->values.at(seed) - 1);
    }
    found.parts[seed] = std::move(parts);
  }
};

}  // namespace headroom::experiments
