#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The first step of x gains something, and the gain per doubling of x between the last two points is at most
/// `fraction` of that between the first two: a test of (last gain − fraction · first gain), which divides by nothing.
/// The interval of their ratio is Fieller's (1954). Gains are of the metric itself, not of its logarithm.
struct Saturates : ClaimKind {
  Saturates()
      : ClaimKind({.name = "saturates",
                   .form = Form::share,
                   .numbers = {"share", "first_gain", "last_gain", "seeds"},
                   .least_points = 3,
                   .what = "saturation"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.fraction = in.real("fraction", keys.fraction, {.low = 0, .high = 1},
                            "largest share of the first doubling's gain that the last may have");
    if (const auto x = scope.x(); !x.empty() && !(x.front() > 0))
      in.complain("kind",
                  fmt::format("{} = {} cannot be doubled: expected an x above 0", scope.x_name(), exact(x.front())));
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    return Hypothesis::all_of(
        {Hypothesis::at_most(gains(c, 1, c.claim.keys.fraction), 0), Hypothesis::at_least(gains(c, 0, -1), 0, true)});
  }

  Finding measure(const Case& c) const override {
    const auto& p = c.curve.points;
    const size_t n = p.size();
    if (!(p.front().x > 0)) fail("{} cannot be doubled", c.at(p.front()));
    const Estimate gain = gains(c, 0, -1);
    const double first = gain.value, last = gains(c, 1, 0).value, share = last / first;
    ConfidenceInterval ratio{.name = "share", .value = share};
    const double tail = c.significance();
    if (gain.seeds > 1 && first > 0)
      ratio = {"share",      share,    fieller_end(c, share, tail, -1), fieller_end(c, share, tail, 1),
               1 - 2 * tail, "Fieller"};
    ratio.claimed.high = c.claim.keys.fraction;
    ratio.of = {.x = p[n - 1].x, .value = last};
    ratio.to = {.x = p[1].x, .value = first};
    return {.measured = share,
            .values = {share, first, last},
            .intervals = {ratio},
            .points = {c.place(p[0]), c.place(p[n - 2])}};
  }

 private:
  /// `last` × the last gain − `first` × the first gain, gains per doubling of x, towards the better.
  static Estimate gains(const Case& c, double last, double first) {
    const auto& p = c.curve.points;
    const size_t n = p.size();
    const double sign = c.curve.larger_is_better ? -1 : 1;
    const double per_last = sign * last / std::log2(p[n - 1].x / p[n - 2].x);
    const double per_first = sign * first / std::log2(p[1].x / p[0].x);
    return c.combine({{&p[n - 2], per_last}, {&p[n - 1], -per_last}, {&p[0], -per_first}, {&p[1], per_first}});
  }

  /// The end of Fieller's interval on one side of `share`: where the test stops rejecting "last = ratio × first".
  static double fieller_end(const Case& c, double share, double tail, int side) {
    const auto is_inside = [&](double ratio) {
      Estimate difference = gains(c, 1, ratio);
      difference.value *= side;
      return !(difference.sides(0).below < tail);
    };
    double step = std::max(std::abs(share), 1e-6) * 1e-3;
    while (is_inside(share + side * step) && step < 1e9) step *= 2;
    if (step >= 1e9) return side > 0 ? INFINITY : -INFINITY;
    double low = 0, high = step;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (is_inside(share + side * middle) ? low : high) = middle;
    }
    return share + side * low;
  }
};

}  // namespace headroom::experiments
