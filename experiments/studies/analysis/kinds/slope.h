#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The least-squares slope over the x, on `axes`, lies within `low` and `high`. Each seed gives a slope of its own,
/// from all x; their mean is tested against both limits, so that what the seeds of one x have in common is counted
/// once, and a curve that is no line gives the slope of its best line.
struct Slope : ClaimKind {
  Slope()
      : ClaimKind({.name = "slope",
                   .form = Form::slope,
                   .numbers = {"slope", "points", "seeds"},
                   .required = {{"low", "low, high or both: the interval that is claimed"}},
                   .least_points = 3,
                   .what = "a slope"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.axes =
        in.word("axes", keys.axes, {"log-log", "semi-log", "linear"}, "logarithms of x and y, of x alone, of none");
    keys.limits = read_limits(in);
    if (const auto x = scope.x(); keys.axes != "linear" && !x.empty() && !(x.front() > 0))
      in.complain("axes",
                  fmt::format("{} = {} has no logarithm: \"linear\" takes none", scope.x_name(), exact(x.front())));
  }

  std::string details(const ClaimKeys& keys) const override { return " " + interval(keys.limits); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    return Hypothesis::within(estimate(c), c.claim.keys.limits);
  }

  Finding measure(const Case& c) const override {
    const std::string& axes = c.claim.keys.axes;
    for (const Point& p : c.curve.points) {
      if (axes != "linear" && !(p.x > 0)) fail("{} has no logarithm", c.at(p));
      for (const auto& [seed, value] : p.values)
        if (axes == "log-log" && !(value > 0))
          fail("at {} seed {} has {}, which has no logarithm", c.at(p), seed, rounded(value));
    }
    const ConfidenceInterval slope = c.interval("slope", estimate(c), 1, c.claim.keys.limits);
    return {.measured = slope.value,
            .values = {slope.value, static_cast<double>(c.curve.points.size())},
            .intervals = {slope}};
  }

 private:
  /// A weighted sum of the values.
  static Estimate estimate(const Case& c) {
    const std::string& axes = c.claim.keys.axes;
    std::vector<double> x;
    for (const Point& p : c.curve.points) x.push_back(axes == "linear" ? p.x : std::log(p.x));
    const int exponent = common_exponent(x);
    x = scaled(x, -exponent);
    const double middle = mean(x);
    double squares = 0;
    for (const double value : x) squares += (value - middle) * (value - middle);
    Terms terms;
    for (size_t i = 0; i < x.size(); ++i)
      terms.emplace_back(&c.curve.points[i], std::scalbn((x[i] - middle) / squares, -exponent));
    return c.combine(terms, axes == "log-log");
  }
};

}  // namespace headroom::experiments
