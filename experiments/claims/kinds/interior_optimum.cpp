#include "experiments/claims/kinds/interior_optimum.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void InteriorOptimum::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  scope.check_count(in, 3, "an interior optimum");
}

void InteriorOptimum::judge(const Case& c, Verdict& verdict) const {
  const auto& points = c.curve.points;
  if (points.size() < 3) {
    return not_run(verdict,
                   fmt::format("an interior optimum needs 3 values of {}, there are {}", c.axis, points.size()));
  }
  const Point &low = points.front(), &high = points.back();
  const Point& best = *c.best(points.begin() + 1, points.end() - 1);
  struct End {
    const Point& point;
    PairedTest test;
    double ratio, worse;
  };
  const auto end = [&](const Point& point) {
    return End{point, c.worse(point, best), point.geometric_mean / best.geometric_mean,
               c.times_worse(point.geometric_mean, best.geometric_mean)};
  };
  const End ends[] = {end(low), end(high)};
  const int pairs = std::min(ends[0].test.pairs, ends[1].test.pairs);
  verdict.numbers = {{"best_x", best.x},           {"p_low", ends[0].test.p},     {"p_high", ends[1].test.p},
                     {"ratio_low", ends[0].ratio}, {"ratio_high", ends[1].ratio}, {"seeds", pairs}};
  verdict.measured = best.x;
  verdict.p = std::max(ends[0].test.p, ends[1].test.p);
  verdict.summary = fmt::format("p = {} / {}", probability(ends[0].test.p), probability(ends[1].test.p));
  const std::string measured =
      fmt::format("Of those between, {} has the {}; {} has {} times that, {} has {} times.", c.at(best), c.best_noun(),
                  c.at(low), rounded(ends[0].ratio), c.at(high), rounded(ends[1].ratio));
  verdict.sentence = measured;
  if (pairs < static_cast<int>(c.wanted_seeds())) return too_few_seeds(c, verdict, pairs);

  std::string against;
  for (const End& e : ends) {
    // A ratio of errors means nothing for a metric that can be negative; by default it is not asked for.
    if (factor > 1 && !(e.worse >= factor)) {
      against += fmt::format("{} is {} times as bad, at least {} was claimed; ", c.at(e.point), rounded(e.worse),
                             exact(factor));
    } else if (!c.significant(e.test.p)) {
      against += fmt::format("that {} is worse is not significant, p = {} against {}; ", c.at(e.point),
                             probability(e.test.p), exact(c.claim.significance));
    }
  }
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (against.empty()) {
    verdict.sentence = fmt::format("Both ends are worse than {}: {} has {} times its {}, {} has {} times (p = {}, {}).",
                                   c.at(best), c.at(low), rounded(ends[0].ratio), c.noun(), c.at(high),
                                   rounded(ends[1].ratio), probability(ends[0].test.p), probability(ends[1].test.p));
  } else {
    against.resize(against.size() - 2);
    verdict.sentence = fmt::format("No interior optimum as claimed: {}. {}", against, measured);
  }
}

}  // namespace headroom::experiments
