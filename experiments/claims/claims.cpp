#include "experiments/claims/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "experiments/claims/curve.h"
#include "experiments/claims/number.h"
#include "experiments/claims/statistics.h"

namespace headroom::experiments {
namespace {

/// What every judge works on: one claim and the curve it speaks of.
struct Case {
  const ClaimConfig& claim;
  const Curve& curve;
  std::string axis;  ///< "heads"

  double error(const Point& p) const { return claim.log_error ? p.geometric_mean : p.mean; }
  std::string at(const Point& p) const { return fmt::format("{} = {}", axis, exact(p.x)); }

  /// The point of the smallest error in [first, last).
  template <class It>
  It best(It first, It last) const {
    return std::min_element(first, last, [&](const Point& a, const Point& b) { return error(a) < error(b); });
  }

  /// Is the metric at `a` larger than at `b`? Over the seeds that both have.
  PairedTest worse(const Point& a, const Point& b) const {
    std::vector<double> left, right;
    for (const auto& [seed, value] : a.values) {
      const auto other = b.values.find(seed);
      if (other == b.values.end()) continue;
      left.push_back(claim.log_error ? std::log(value) : value);
      right.push_back(claim.log_error ? std::log(other->second) : other->second);
    }
    return paired_test(left, right);
  }
};

/// Gives `verdict` the status not_run, and the reason.
void not_run(Verdict& verdict, std::string reason) {
  verdict.status = VerdictStatus::not_run;
  verdict.sentence = "Not judged: " + std::move(reason) + ".";
}

void underpowered(Verdict& verdict, int pairs) {
  verdict.status = VerdictStatus::underpowered;
  verdict.sentence =
      fmt::format("Too few seeds to judge: {} in common, at least 2 are needed. ", pairs) + verdict.sentence;
}

/// Fewer than two seeds leave the point without an error bar.
bool too_few(const Point& point) { return point.values.size() < 2; }

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
    double ratio;
  };
  const End ends[] = {{low, c.worse(low, best), low.geometric_mean / best.geometric_mean},
                      {high, c.worse(high, best), high.geometric_mean / best.geometric_mean}};
  const int pairs = std::min(ends[0].test.pairs, ends[1].test.pairs);
  verdict.numbers = {{"best_x", best.x},           {"p_low", ends[0].test.p},     {"p_high", ends[1].test.p},
                     {"ratio_low", ends[0].ratio}, {"ratio_high", ends[1].ratio}, {"seeds", pairs}};
  verdict.summary = fmt::format("p = {} / {}", probability(ends[0].test.p), probability(ends[1].test.p));
  const std::string measured =
      fmt::format("Of those between, {} has the smallest error; {} has {} times that, {} has {} times.", c.at(best),
                  c.at(low), rounded(ends[0].ratio), c.at(high), rounded(ends[1].ratio));
  verdict.sentence = measured;
  if (pairs < 2) return underpowered(verdict, pairs);

  std::string against;
  for (const End& end : ends) {
    // A ratio of errors means nothing for a metric that can be negative; by default it is not asked for.
    if (c.claim.factor > 1 && !(end.ratio >= c.claim.factor)) {
      against += fmt::format("{} is {} times as bad, at least {} was claimed; ", c.at(end.point), rounded(end.ratio),
                             exact(c.claim.factor));
    } else if (!(end.test.p < c.claim.significance)) {
      against += fmt::format("that {} is worse is not significant, p = {} against {}; ", c.at(end.point),
                             probability(end.test.p), exact(c.claim.significance));
    }
  }
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (against.empty()) {
    verdict.sentence =
        fmt::format("Both ends are worse than {}: {} has {} times its error, {} has {} times (p = {}, {}).", c.at(best),
                    c.at(low), rounded(ends[0].ratio), c.at(high), rounded(ends[1].ratio), probability(ends[0].test.p),
                    probability(ends[1].test.p));
  } else {
    against.resize(against.size() - 2);
    verdict.sentence = fmt::format("No interior optimum as claimed: {}. {}", against, measured);
  }
}

void judge_argmin_in(const Case& c, Verdict& verdict) {
  const auto& points = c.curve.points;
  std::vector<Point> claimed, others;
  for (const Point& p : points) {
    const bool among = std::count(c.claim.among.begin(), c.claim.among.end(), p.x) > 0;
    (among ? claimed : others).push_back(p);
  }
  for (double x : c.claim.among)
    if (!c.curve.at(x)) return not_run(verdict, fmt::format("{} = {} is no point of the sweep", c.axis, exact(x)));
  if (claimed.empty()) return not_run(verdict, "the claim names no value");
  const Point& inside = *c.best(claimed.begin(), claimed.end());
  const Point& outside = others.empty() ? inside : *c.best(others.begin(), others.end());
  const bool holds = c.error(inside) <= c.error(outside);
  const Point &best = holds ? inside : outside, &rival = holds ? outside : inside;
  const PairedTest test = c.worse(rival, best);
  const double ratio = c.error(rival) / c.error(best);
  verdict.numbers = {{"argmin", best.x}, {"claimed_x", inside.x}, {"rival_x", rival.x},
                     {"ratio", ratio},   {"p", test.p},           {"seeds", test.pairs}};
  verdict.summary = holds ? exact(best.x) : fmt::format("{}, p = {}", exact(best.x), probability(test.p));
  const bool resolved = test.p < c.claim.significance;
  const std::string against = others.empty()
                                  ? "there is no other value to compare with"
                                  : fmt::format(
                                        "{} has {} times its error, a difference that is {} "
                                        "(p = {} over {} seeds)",
                                        c.at(rival), rounded(ratio), resolved ? "significant" : "not significant",
                                        probability(test.p), test.pairs);
  verdict.sentence =
      holds ? fmt::format("The smallest error is at {}, as claimed; {}.", c.at(best), against)
            : fmt::format("The smallest error is at {}, not where it was claimed: {}.", c.at(best), against);
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (too_few(best) || too_few(rival)) underpowered(verdict, test.pairs);
}

void judge_within_factor(const Case& c, Verdict& verdict) {
  if (!c.claim.at) return not_run(verdict, "the claim names no `at`");
  const Point* at = c.curve.at(*c.claim.at);
  if (!at) return not_run(verdict, fmt::format("{} = {} is no point of the sweep", c.axis, exact(*c.claim.at)));
  const Point& best = *c.best(c.curve.points.begin(), c.curve.points.end());
  const double ratio = &best == at ? 1 : c.error(*at) / c.error(best);
  const bool holds = ratio <= c.claim.factor;
  verdict.numbers = {{"ratio", ratio}, {"best_x", best.x}, {"seeds", static_cast<double>(at->values.size())}};
  verdict.summary = fmt::format("{}× of {}", rounded(ratio), exact(best.x));
  verdict.sentence = ratio == 1
                         ? fmt::format("{} has the smallest error itself.", c.at(*at))
                         : fmt::format("{} has {} times the smallest error, that of {}; at most {} times was claimed.",
                                       c.at(*at), rounded(ratio), c.at(best), exact(c.claim.factor));
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (too_few(*at) || too_few(best))
    underpowered(verdict, static_cast<int>(std::min(at->values.size(), best.values.size())));
}

using Judge = void (*)(const Case&, Verdict&);
const std::vector<std::pair<std::string, Judge>> kJudges = {{"interior_optimum", judge_interior_optimum},
                                                            {"argmin_in", judge_argmin_in},
                                                            {"within_factor", judge_within_factor}};

/// Why the curve cannot be judged at all; "" when it can.
std::string obstacle(const StudyResults& results, const Case& c) {
  const auto done = std::ssize(results.trials);
  if (done < results.planned) return fmt::format("{} of {} trials are done", done, results.planned);
  if (c.curve.points.empty()) return "the series has no trials";
  for (const Point& p : c.curve.points) {
    if (p.values.empty()) return fmt::format("no trial at {} finished", c.at(p));
    // Only these claims divide errors or take their logarithm.
    const bool ratios = c.claim.log_error || c.claim.kind == "within_factor" || c.claim.factor > 1;
    if (ratios && !(p.best > 0))
      return fmt::format("the claim compares ratios of errors, and {} reached {}", c.at(p), rounded(p.best));
  }
  return "";
}

std::string list(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

void note_weaknesses(const Case& c, Verdict& verdict) {
  std::map<std::pair<std::string, double>, std::vector<std::string>> edges;  // (key, value) → where it was best
  for (const Point& p : c.curve.points) {
    if (!p.failed.empty())
      verdict.notes.push_back(fmt::format("at {} seed {} failed and is in no mean", c.at(p), list(p.failed)));
    if (!p.missing.empty()) verdict.notes.push_back(fmt::format("at {} seed {} was not run", c.at(p), list(p.missing)));
    for (const std::string& key : p.edges) edges[{key, p.choice.at(key)}].push_back(exact(p.x));
  }
  for (const auto& [choice, xs] : edges)
    verdict.notes.push_back(fmt::format("at {} = {} the best {} is {}, an end of the values tried", c.axis,
                                        fmt::join(xs, ", "), last_part(choice.first), exact(choice.second)));
}

}  // namespace

std::vector<Verdict> judge(const StudyResults& results) {
  const auto names = series_names(results);
  std::vector<Verdict> verdicts;
  for (const ClaimConfig& claim : results.claims) {
    const auto judge_of =
        std::find_if(kJudges.begin(), kJudges.end(), [&](const auto& j) { return j.first == claim.kind; });
    require(judge_of != kJudges.end(), "claim: unknown kind '{}'; known are {}", claim.kind,
            fmt::join(claim_kinds(), ", "));
    const std::string series = claim.series.empty() && names.size() == 1 ? names[0] : claim.series;
    require(std::count(names.begin(), names.end(), series) > 0, "claim {}: the study has no series '{}'; it has {}",
            claim.kind, series, fmt::join(names, ", "));
    Verdict verdict;
    verdict.claim = claim;
    const Curve measured = curve(results, series);
    const Case c{claim, measured, last_part(results.report.x_key)};
    if (const std::string reason = obstacle(results, c); !reason.empty()) not_run(verdict, reason);
    else judge_of->second(c, verdict);
    note_weaknesses(c, verdict);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

const std::vector<std::string>& claim_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const auto& judge_of : kJudges) names.push_back(judge_of.first);
    return names;
  }();
  return kinds;
}

const char* name(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::pass:
      return "pass";
    case VerdictStatus::fail:
      return "fail";
    case VerdictStatus::underpowered:
      return "underpowered";
    case VerdictStatus::not_run:
      return "not run";
  }
  return "";
}

std::string claim_name(const ClaimConfig& claim) {
  std::string text = claim.kind;
  std::vector<std::string> among;
  for (double x : claim.among) among.push_back(exact(x));
  if (!among.empty()) text += fmt::format(" [{}]", fmt::join(among, ", "));
  if (claim.at) text += fmt::format(" {} ≤ {}×", exact(*claim.at), exact(claim.factor));
  if (!claim.series.empty()) text += " · " + claim.series;
  return text;
}

}  // namespace headroom::experiments
