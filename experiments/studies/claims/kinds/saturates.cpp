#include "experiments/studies/claims/kinds/saturates.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// `last` × the last gain − `first` × the first gain, gains per doubling of x, towards the better.
Estimate gains(const Case& c, double last, double first) {
  const auto& p = c.curve.points;
  const size_t n = p.size();
  const double sign = c.curve.larger_is_better ? -1 : 1;
  const double per_last = sign * last / std::log2(p[n - 1].x / p[n - 2].x);
  const double per_first = sign * first / std::log2(p[1].x / p[0].x);
  return c.combine({{&p[n - 2], per_last}, {&p[n - 1], -per_last}, {&p[0], -per_first}, {&p[1], per_first}});
}

/// The end of Fieller's interval on one side of `share`: where the test stops rejecting "last = ratio × first".
double fieller_end(const Case& c, double share, double tail, int side) {
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

}  // namespace

void Saturates::read(Reader& in, const ClaimScope& scope) {
  fraction = in.real("fraction", fraction, {.low = 0, .high = 1},
                     "largest share of the first doubling's gain that the last may have");
  scope.check_count(in, 3, "saturation");
  if (const auto x = scope.x(); !x.empty() && !(x.front() > 0))
    in.complain("kind",
                fmt::format("{} = {} cannot be doubled: expected an x above 0", scope.x_name(), exact(x.front())));
}

Hypothesis Saturates::hypothesis(const Case& c) const {
  return Hypothesis::all_of(
      {Hypothesis::at_most(gains(c, 1, fraction), 0), Hypothesis::at_least(gains(c, 0, -1), 0, true)});
}

std::optional<Hypothesis> Saturates::judge(const Case& c, Verdict& verdict) const {
  const auto& p = c.curve.points;
  const size_t n = p.size();
  if (n < 3) not_run(verdict, fmt::format("saturation needs 3 values of {}", c.axis));
  else if (!(p.front().x > 0)) not_run(verdict, fmt::format("{} cannot be doubled", c.at(p.front())));
  if (!verdict.sentence.empty()) return std::nullopt;
  const double first = gains(c, 0, -1).value, last = gains(c, 1, 0).value, share = last / first;
  Hypothesis says = hypothesis(c);
  ConfidenceInterval ratio{.name = "share", .value = share};
  const double tail = c.claim.significance * c.results.level;
  if (says.seeds().value_or(0) > 1 && first > 0) {
    ratio = {"share", share, fieller_end(c, share, tail, -1), fieller_end(c, share, tail, 1), 1 - 2 * tail, "Fieller"};
  }
  verdict.numbers = {{"share", share}, {"first_gain", first}, {"last_gain", last}, {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {ratio};
  verdict.measured = share;
  verdict.summary = std::isnan(ratio.low)
                        ? rounded(share)
                        : fmt::format("{} [{}, {}]", rounded(share), rounded(ratio.low), rounded(ratio.high));
  verdict.found = fmt::format("doubling {} gains {} between {} and {}, and {} between {} and {}: {} of the first gain",
                              c.axis, rounded(first), exact(p[0].x), exact(p[1].x), rounded(last), exact(p[n - 2].x),
                              exact(p[n - 1].x), verdict.summary);
  verdict.claimed = fmt::format("at most {}", exact(fraction));
  return says;
}

}  // namespace headroom::experiments
