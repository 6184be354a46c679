#include "experiments/claims/kinds/saturates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void Saturates::read(Reader& in, const ClaimScope& scope) {
  fraction = in.real("fraction", fraction, {.low = 0, .high = 1},
                     "largest share of the first doubling's gain that the last may have");
  scope.check_count(in, 3, "saturation");
  if (const auto x = scope.x(); !x.empty() && !(x.front() > 0))
    in.complain("kind", fmt::format("{} = {} cannot be doubled: wants an x above 0", scope.x_name(), exact(x.front())));
}

void Saturates::judge(const Case& c, Verdict& verdict) const {
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
      rounded(ratio), 100 * (1 - c.claim.significance), rounded(interval.low), rounded(interval.high), exact(fraction));
  if (!(first > 0)) {
    verdict.status = VerdictStatus::fail;
    verdict.sentence = "The first doubling gains nothing. " + verdict.sentence;
  } else if (seeds.size() < c.wanted_seeds()) {
    too_few_seeds(c, verdict, seeds.size());
  } else if (ratio > fraction) {
    verdict.status = VerdictStatus::fail;
  } else if (interval.high <= fraction) {
    verdict.status = VerdictStatus::pass;
  } else {
    verdict.status = VerdictStatus::undecided;
    verdict.sentence = "The interval is too wide to tell. " + verdict.sentence;
  }
}

}  // namespace headroom::experiments
