#include "experiments/claims/kinds/within_factor.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void WithinFactor::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
}

std::optional<MissingKey> WithinFactor::missing(const ClaimConfig&) const {
  if (!at) return MissingKey{"at", "the x to be judged"};
  return std::nullopt;
}

std::string WithinFactor::details() const { return at ? fmt::format(" {} ≤ {}×", exact(*at), exact(factor)) : ""; }

void WithinFactor::judge(const Case& c, Verdict& verdict) const {
  const Point& point = *c.curve.at(*at);
  const Point& best = *c.best(c.curve.points.begin(), c.curve.points.end());
  const double ratio = &best == &point ? 1 : c.times_worse(c.value(point), c.value(best));
  verdict.numbers = {{"ratio", ratio}, {"best_x", best.x}, {"seeds", static_cast<double>(point.values.size())}};
  verdict.measured = ratio;
  verdict.summary = fmt::format("{}× of {}", rounded(ratio), exact(best.x));
  verdict.sentence = ratio == 1 ? fmt::format("{} has the {} itself.", c.at(point), c.best_noun())
                     : c.curve.larger_is_better
                         ? fmt::format("{} has the {} over {}, that of {}; over at most {} was claimed.", c.at(point),
                                       c.best_noun(), rounded(ratio), c.at(best), exact(factor))
                         : fmt::format("{} has {} times the {}, that of {}; at most {} times was claimed.", c.at(point),
                                       rounded(ratio), c.best_noun(), c.at(best), exact(factor));
  verdict.status = ratio <= factor ? VerdictStatus::pass : VerdictStatus::fail;
  if (c.too_few(point) || c.too_few(best)) too_few_seeds(c, verdict, std::min(point.values.size(), best.values.size()));
}

}  // namespace headroom::experiments
