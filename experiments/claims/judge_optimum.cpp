// Claims about where the best x is, and how far others are from it.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/case.h"
#include "experiments/claims/number.h"

namespace headroom::experiments {

void judge_interior_optimum(const Case& c, Verdict& verdict) {
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
  if (pairs < static_cast<int>(c.wanted_seeds())) return underpowered(c, verdict, pairs);

  std::string against;
  for (const End& e : ends) {
    // A ratio of errors means nothing for a metric that can be negative; by default it is not asked for.
    if (c.claim.factor > 1 && !(e.worse >= c.claim.factor)) {
      against += fmt::format("{} is {} times as bad, at least {} was claimed; ", c.at(e.point), rounded(e.worse),
                             exact(c.claim.factor));
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

void judge_argmin_in(const Case& c, Verdict& verdict) {
  std::vector<Point> claimed, others;
  for (const Point& p : c.curve.points) {
    const bool among = std::count(c.claim.among.begin(), c.claim.among.end(), p.x) > 0;
    (among ? claimed : others).push_back(p);
  }
  for (double x : c.claim.among)
    if (!c.curve.at(x)) return not_run(verdict, fmt::format("{} = {} is no point of the sweep", c.axis, exact(x)));
  const Point& inside = *c.best(claimed.begin(), claimed.end());
  const Point& outside = others.empty() ? inside : *c.best(others.begin(), others.end());
  const bool holds = !c.better(outside, inside);
  const Point &best = holds ? inside : outside, &rival = holds ? outside : inside;
  const PairedTest test = c.worse(rival, best);
  const double ratio = c.value(rival) / c.value(best);
  verdict.numbers = {{"argmin", best.x}, {"claimed_x", inside.x}, {"rival_x", rival.x},
                     {"ratio", ratio},   {"p", test.p},           {"seeds", test.pairs}};
  verdict.measured = best.x;
  verdict.p = test.p;
  verdict.summary = holds ? exact(best.x) : fmt::format("{}, p = {}", exact(best.x), probability(test.p));
  const std::string against =
      others.empty()
          ? "there is no other value to compare with"
          : fmt::format("{} has {} times its {}, a difference that is {} (p = {} over {} seeds)", c.at(rival),
                        rounded(ratio), c.noun(), c.significant(test.p) ? "significant" : "not significant",
                        probability(test.p), test.pairs);
  verdict.sentence = fmt::format("The {} is at {}, {} {}.", c.best_noun(), c.at(best),
                                 holds ? "as claimed;" : "not where it was claimed:", against);
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (c.too_few(best) || c.too_few(rival)) underpowered(c, verdict, test.pairs);
}

void judge_within_factor(const Case& c, Verdict& verdict) {
  const Point* at = c.curve.at(*c.claim.at);
  const Point& best = *c.best(c.curve.points.begin(), c.curve.points.end());
  const double ratio = &best == at ? 1 : c.times_worse(c.value(*at), c.value(best));
  verdict.numbers = {{"ratio", ratio}, {"best_x", best.x}, {"seeds", static_cast<double>(at->values.size())}};
  verdict.measured = ratio;
  verdict.summary = fmt::format("{}× of {}", rounded(ratio), exact(best.x));
  verdict.sentence = ratio == 1 ? fmt::format("{} has the {} itself.", c.at(*at), c.best_noun())
                     : c.curve.larger_is_better
                         ? fmt::format("{} has the {} over {}, that of {}; over at most {} was claimed.", c.at(*at),
                                       c.best_noun(), rounded(ratio), c.at(best), exact(c.claim.factor))
                         : fmt::format("{} has {} times the {}, that of {}; at most {} times was claimed.", c.at(*at),
                                       rounded(ratio), c.best_noun(), c.at(best), exact(c.claim.factor));
  verdict.status = ratio <= c.claim.factor ? VerdictStatus::pass : VerdictStatus::fail;
  if (c.too_few(*at) || c.too_few(best)) underpowered(c, verdict, std::min(at->values.size(), best.values.size()));
}

void judge_worse_than_best(const Case& c, Verdict& verdict) {
  const Point* at = c.curve.at(*c.claim.at);
  std::vector<Point> others;
  for (const Point& p : c.curve.points)
    if (&p != at) others.push_back(p);
  if (others.empty()) return not_run(verdict, "there is no other value to compare with");
  const Point& best = *c.best(others.begin(), others.end());
  const PairedTest test = c.worse(*at, best);
  const double ratio = c.times_worse(c.value(*at), c.value(best));
  verdict.numbers = {{"ratio", ratio}, {"best_x", best.x}, {"p", test.p}, {"seeds", test.pairs}};
  verdict.measured = ratio;
  verdict.p = test.p;
  verdict.summary = fmt::format("{}× of {}, p = {}", rounded(ratio), exact(best.x), probability(test.p));
  const bool holds = c.significant(test.p) && !(c.claim.factor > 1 && !(ratio >= c.claim.factor));
  verdict.sentence =
      fmt::format("{} is {} times as bad as {} (p = {} over {} seeds){}.", c.at(*at), rounded(ratio), c.at(best),
                  probability(test.p), test.pairs,
                  c.claim.factor > 1 ? fmt::format("; at least {} times was claimed", exact(c.claim.factor)) : "");
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (test.pairs < static_cast<int>(c.wanted_seeds())) underpowered(c, verdict, test.pairs);
}

}  // namespace headroom::experiments
