#include "experiments/claims/kinds/worse_than_best.h"

#include <fmt/format.h>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void WorseThanBest::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
  scope.check_count(in, 2, "a comparison with the best");
}

std::optional<MissingKey> WorseThanBest::missing(const ClaimConfig&) const {
  if (!at) return MissingKey{"at", "the x to be judged"};
  return std::nullopt;
}

std::string WorseThanBest::details() const { return at ? " at " + exact(*at) : ""; }

void WorseThanBest::judge(const Case& c, Verdict& verdict) const {
  const Point& point = *c.curve.at(*at);
  std::vector<Point> others;
  for (const Point& p : c.curve.points)
    if (&p != &point) others.push_back(p);
  if (others.empty()) return not_run(verdict, "there is no other value to compare with");
  const Point& best = *c.best(others.begin(), others.end());
  const PairedTest test = c.worse(point, best);
  const double ratio = c.times_worse(c.value(point), c.value(best));
  verdict.numbers = {{"ratio", ratio}, {"best_x", best.x}, {"p", test.p}, {"seeds", test.pairs}};
  verdict.measured = ratio;
  verdict.p = test.p;
  verdict.summary = fmt::format("{}× of {}, p = {}", rounded(ratio), exact(best.x), probability(test.p));
  const bool holds = c.significant(test.p) && !(factor > 1 && !(ratio >= factor));
  verdict.sentence = fmt::format("{} is {} times as bad as {} (p = {} over {} seeds){}.", c.at(point), rounded(ratio),
                                 c.at(best), probability(test.p), test.pairs,
                                 factor > 1 ? fmt::format("; at least {} times was claimed", exact(factor)) : "");
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (test.pairs < static_cast<int>(c.wanted_seeds())) too_few_seeds(c, verdict, test.pairs);
}

}  // namespace headroom::experiments
