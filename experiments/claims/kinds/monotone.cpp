#include "experiments/claims/kinds/monotone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void Monotone::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  direction = in.word("direction", {"", "it must be given"}, {"falling", "rising"}, "of the values as x grows");
  scope.check_count(in, 2, "a trend");
  tolerance = in.real("tolerance", tolerance, fraction, "a step back of this share is a tie");
}

std::optional<MissingKey> Monotone::missing(const ClaimConfig&) const {
  if (direction.empty()) return MissingKey{"direction", "falling or rising"};
  return std::nullopt;
}

std::string Monotone::details() const { return " " + direction; }

void Monotone::judge(const Case& c, Verdict& verdict) const {
  const auto& points = c.curve.points;
  if (points.size() < 2) return not_run(verdict, fmt::format("a trend needs 2 values of {}", c.axis));
  const bool falling = direction == "falling";
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
    if (!(step > tolerance * std::abs(c.value(from))) || !c.significant(back.p)) continue;
    against +=
        fmt::format("from {} to {} it {} from {} to {} (p = {}); ", c.at(from), exact(to.x),
                    falling ? "rises" : "falls", rounded(c.value(from)), rounded(c.value(to)), probability(back.p));
  }
  if (!c.significant(whole.p))
    against += fmt::format("that it is {} at {} than at {} is not significant, p = {}; ",
                           falling ? "smaller" : "larger", c.at(last), exact(first.x), probability(whole.p));
  else if (factor > 1 && !(ratio >= factor))
    against += fmt::format("it changes by {} times, at least {} was claimed; ", rounded(ratio), exact(factor));
  verdict.numbers = {{"first", c.value(first)}, {"last", c.value(last)}, {"ratio", ratio}, {"p", whole.p},
                     {"p_against", worst_p},    {"seeds", pairs}};
  verdict.measured = ratio;
  verdict.p = whole.p;
  verdict.summary =
      fmt::format("{} → {}, p = {}", rounded(c.value(first)), rounded(c.value(last)), probability(whole.p));
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (!against.empty()) against.resize(against.size() - 2);
  verdict.sentence = fmt::format("From {} to {} the {} goes from {} to {}: {}.", c.at(first), exact(last.x),
                                 c.curve.metric, rounded(c.value(first)), rounded(c.value(last)),
                                 against.empty() ? fmt::format("{} throughout, but for ties", direction) : against);
  if (pairs < static_cast<int>(c.wanted_seeds())) too_few_seeds(c, verdict, pairs);
}

}  // namespace headroom::experiments
