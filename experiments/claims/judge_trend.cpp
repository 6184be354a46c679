// Claims about how the curve runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/claims/case.h"
#include "experiments/claims/number.h"

namespace headroom::experiments {

void judge_monotone(const Case& c, Verdict& verdict) {
  const auto& points = c.curve.points;
  if (points.size() < 2) return not_run(verdict, fmt::format("a trend needs 2 values of {}", c.axis));
  const bool falling = c.claim.direction == "falling";
  const auto test = [&](const Point& from, const Point& to) {  // of a step in the direction that is claimed
    return falling ? c.larger(from, to) : c.larger(to, from);
  };
  const Point &first = points.front(), &last = points.back();
  const PairedTest whole = test(first, last);
  const double high = falling ? c.value(first) : c.value(last), low = falling ? c.value(last) : c.value(first);
  const double ratio = high / low;
  int pairs = whole.pairs;
  double worst_p = 1;  // of a step against the direction
  std::string against;
  for (size_t i = 1; i < points.size(); ++i) {
    const Point &from = points[i - 1], &to = points[i];
    const PairedTest back = test(to, from);
    pairs = std::min(pairs, back.pairs);
    const double step = falling ? c.value(to) - c.value(from) : c.value(from) - c.value(to);
    if (step > 0) worst_p = std::min(worst_p, back.p);
    if (!(step > c.claim.tolerance * std::abs(c.value(from))) || !c.significant(back.p)) continue;
    against +=
        fmt::format("from {} to {} it {} from {} to {} (p = {}); ", c.at(from), exact(to.x),
                    falling ? "rises" : "falls", rounded(c.value(from)), rounded(c.value(to)), probability(back.p));
  }
  if (!c.significant(whole.p))
    against += fmt::format("that it is {} at {} than at {} is not significant, p = {}; ",
                           falling ? "smaller" : "larger", c.at(last), exact(first.x), probability(whole.p));
  else if (c.claim.factor > 1 && !(ratio >= c.claim.factor))
    against += fmt::format("it changes by {} times, at least {} was claimed; ", rounded(ratio), exact(c.claim.factor));
  verdict.numbers = {{"first", c.value(first)}, {"last", c.value(last)}, {"ratio", ratio}, {"p", whole.p},
                     {"p_against", worst_p},    {"seeds", pairs}};
  verdict.measured = ratio;
  verdict.p = whole.p;
  verdict.summary =
      fmt::format("{} → {}, p = {}", rounded(c.value(first)), rounded(c.value(last)), probability(whole.p));
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (!against.empty()) against.resize(against.size() - 2);
  verdict.sentence =
      fmt::format("From {} to {} the {} goes from {} to {}: {}.", c.at(first), exact(last.x), c.curve.metric,
                  rounded(c.value(first)), rounded(c.value(last)),
                  against.empty() ? fmt::format("{} throughout, but for ties", c.claim.direction) : against);
  if (pairs < static_cast<int>(c.wanted_seeds())) underpowered(c, verdict, pairs);
}

void judge_slope(const Case& c, Verdict& verdict) {
  const bool log_x = c.claim.axes != "linear", log_y = c.claim.axes == "log-log";
  std::vector<double> x, y;
  std::set<double> distinct;
  for (const Point& p : c.curve.points) {
    if (log_x && !(p.x > 0)) return not_run(verdict, fmt::format("{} has no logarithm", c.at(p)));
    for (const auto& [seed, value] : p.values) {
      if (log_y && !(value > 0))
        return not_run(verdict,
                       fmt::format("at {} seed {} has {}, which has no logarithm", c.at(p), seed, rounded(value)));
      x.push_back(log_x ? std::log(p.x) : p.x);
      y.push_back(log_y ? std::log(value) : value);
    }
    distinct.insert(p.x);
  }
  if (distinct.size() < 3) return not_run(verdict, fmt::format("a slope needs 3 values of {}", c.axis));
  const Line line = fit_line(x, y, c.claim.significance);
  const double low = c.claim.low.value_or(-INFINITY), high = c.claim.high.value_or(INFINITY);
  verdict.numbers = {{"slope", line.slope}, {"low", line.low}, {"high", line.high}, {"points", line.points}};
  verdict.measured = line.slope;
  verdict.summary = fmt::format("{} [{}, {}]", rounded(line.slope), rounded(line.low), rounded(line.high));
  const bool inside = line.low >= low && line.high <= high;
  const bool centre = line.slope >= low && line.slope <= high;
  verdict.sentence =
      fmt::format("The slope of {} on {} ({}) is {}, its {:g} % interval [{}, {}]; within [{}, {}] was claimed.",
                  c.curve.metric, c.axis, c.claim.axes, rounded(line.slope), 100 * (1 - c.claim.significance),
                  rounded(line.low), rounded(line.high), rounded(low), rounded(high));
  verdict.status = inside ? VerdictStatus::pass : centre ? VerdictStatus::underpowered : VerdictStatus::fail;
  if (verdict.status == VerdictStatus::underpowered)
    verdict.sentence = "The interval is too wide to tell. " + verdict.sentence;
}

void judge_saturates(const Case& c, Verdict& verdict) {
  const auto& points = c.curve.points;
  const size_t n = points.size();
  if (n < 3) return not_run(verdict, fmt::format("saturation needs 3 values of {}", c.axis));
  if (!(points.front().x > 0)) return not_run(verdict, fmt::format("{} cannot be doubled", c.at(points.front())));
  const Point* ends[] = {&points[0], &points[1], &points[n - 2], &points[n - 1]};
  std::vector<int64_t> seeds;
  for (const auto& entry : ends[0]->values)
    if (std::all_of(ends, ends + 4, [&](const Point* p) { return p->values.count(entry.first) > 0; }))
      seeds.push_back(entry.first);
  // Values of resampled seeds at two neighbours → gain per doubling of x, towards the better.
  const auto gain = [&](const Point& from, const Point& to, const std::vector<size_t>& drawn) {
    double sum = 0;
    for (size_t i : drawn) {
      const double a = from.values.at(seeds[i]), b = to.values.at(seeds[i]);
      sum += c.claim.log_error ? std::log(a) - std::log(b) : a - b;
    }
    return (c.curve.larger_is_better ? -sum : sum) / std::log2(to.x / from.x) / static_cast<double>(drawn.size());
  };
  const auto share = [&](const std::vector<size_t>& drawn) {
    const double first = gain(*ends[0], *ends[1], drawn);
    return first > 0 ? gain(*ends[2], *ends[3], drawn) / first : NAN;
  };
  if (seeds.empty()) return not_run(verdict, "no seed finished at both ends");
  std::vector<size_t> all(seeds.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const double first = gain(*ends[0], *ends[1], all), last = gain(*ends[2], *ends[3], all), ratio = share(all);
  const Interval interval = bootstrap(std::ssize(seeds), c.claim.significance, share);
  verdict.numbers = {{"share", ratio},      {"low", interval.low}, {"high", interval.high},
                     {"first_gain", first}, {"last_gain", last},   {"seeds", static_cast<double>(seeds.size())}};
  verdict.measured = ratio;
  verdict.summary = fmt::format("{} [{}, {}]", rounded(ratio), rounded(interval.low), rounded(interval.high));
  verdict.sentence = fmt::format(
      "A doubling of {} gains {} between {} and {}, and {} between {} and {}: {} of it ({:g} % bootstrap interval [{}, "
      "{}]); at most {} was claimed.",
      c.axis, rounded(first), exact(ends[0]->x), exact(ends[1]->x), rounded(last), exact(ends[2]->x), exact(ends[3]->x),
      rounded(ratio), 100 * (1 - c.claim.significance), rounded(interval.low), rounded(interval.high),
      exact(c.claim.fraction));
  if (!(first > 0)) {
    verdict.status = VerdictStatus::fail;
    verdict.sentence = "The first doubling gains nothing. " + verdict.sentence;
  } else if (seeds.size() < c.wanted_seeds()) {
    underpowered(c, verdict, seeds.size());
  } else if (ratio > c.claim.fraction) {
    verdict.status = VerdictStatus::fail;
  } else if (interval.high <= c.claim.fraction) {
    verdict.status = VerdictStatus::pass;
  } else {
    verdict.status = VerdictStatus::underpowered;
    verdict.sentence = "The interval is too wide to tell. " + verdict.sentence;
  }
}

}  // namespace headroom::experiments
