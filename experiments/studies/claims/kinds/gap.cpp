#include "experiments/studies/claims/kinds/gap.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// Two series at the first and the last x that the claim covers.
struct Ends {
  const Point *first, *last, *other_first, *other_last;

  Ends(const Curve& own, const Curve& other)
      : first(&own.points.front()),
        last(&own.points.back()),
        other_first(other.at(first->x)),
        other_last(other.at(last->x)) {}

  bool complete() const {
    return first != last && other_first && other_last && !other_first->values.empty() && !other_last->values.empty();
  }
  /// log of how many times as bad the one series is as the other, at the last x less that at the first.
  Estimate change(const Case& c) const {
    const double sign = c.curve.larger_is_better ? -1 : 1;
    return c.combine({{last, sign}, {other_last, -sign}, {first, -sign}, {other_first, sign}}, true);
  }
};

Curve other_curve(const Case& c, const std::string& rival) {
  return curve_in_range(c.results, rival, c.curve.metric, c.claim);
}

}  // namespace

void Gap::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  direction = in.word("direction", {"", "none: required"}, {"catches_up", "falls_behind"},
                      "whether the series catches up with the other (its lead grows, where it leads), or falls behind");
  in.optional_table("than", "the series that it is compared with", [&](Reader& other) {
    rival = other.text("series", "", "its series");
    if (!rival.empty()) scope.check_series(other, "series", rival);
  });
  if (!rival.empty() && rival == scope.series()) in.complain("than", "is what the claim is about itself");
  scope.check_count(in, 2, "a change of a gap");
  const std::vector<double> own = scope.x(), others = scope.x(rival);
  if (own.size() > 1 && !others.empty())
    for (const double x : {own.front(), own.back()}) scope.check_x(in, "than", x, rival);
}

std::optional<MissingKey> Gap::missing(const ClaimConfig& claim) const {
  if (rival.empty()) return MissingKey{"than", "the series that it is compared with"};
  if (direction.empty()) return MissingKey{"direction", "catches_up or falls_behind"};
  if (!claim.log_error) return MissingKey{"log_error", "logarithms: it compares ratios"};
  return std::nullopt;
}

Hypothesis Gap::hypothesis(const Case& c) const {
  const Curve other = other_curve(c, rival);
  const Estimate change = Ends(c.curve, other).change(c);
  return direction == "falls_behind" ? Hypothesis::at_least(change, std::log(factor), factor == 1)
                                     : Hypothesis::at_most(change, -std::log(factor));
}

std::optional<Hypothesis> Gap::judge(const Case& c, Verdict& verdict) const {
  const Curve other = other_curve(c, rival);
  const Ends ends(c.curve, other);
  if (!ends.complete()) {
    not_run(verdict, fmt::format("{} has not been measured at the first and the last {}", rival, c.axis));
    return std::nullopt;
  }
  Hypothesis says = hypothesis(c);
  const double first = c.times_worse(*ends.first, *ends.other_first),
               last = c.times_worse(*ends.last, *ends.other_last);
  const ConfidenceInterval ratio = exponential(c.interval("ratio", ends.change(c)));
  verdict.numbers = {
      {"ratio", last / first}, {"ratio_first", first}, {"ratio_last", last}, {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {ratio};
  verdict.measured = last / first;
  verdict.summary = fmt::format("{}× → {}×, {}", rounded(first), rounded(last), in_brackets(ratio));
  verdict.found = fmt::format("at {} the {} is {} times as bad as that of {}, and at {} it is {} times: a change by {}",
                              c.at(*ends.first), c.noun(), rounded(first), rival, c.at(*ends.last), rounded(last),
                              in_brackets(ratio));
  verdict.claimed = direction == "catches_up" ? fmt::format("at most {}×", rounded(1 / factor))
                                              : fmt::format("at least {}×", exact(factor));
  return says;
}

}  // namespace headroom::experiments
