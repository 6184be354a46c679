#include "experiments/studies/claims/kinds/argmin_in.h"

#include <fmt/format.h>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"

namespace headroom::experiments {

void ArgminIn::read(Reader& in, const ClaimScope& scope) {
  among = read_among(in, scope);
  factor = read_factor(in, factor);
}

std::optional<MissingKey> ArgminIn::missing(const ClaimConfig&) const {
  if (among.empty()) return MissingKey{"among", "the x that may be the best"};
  return std::nullopt;
}

std::string ArgminIn::details() const { return list_of(among) + (factor > 1 ? " by " + exact(factor) + "×" : ""); }

Hypothesis ArgminIn::hypothesis(const Case& c) const {
  std::vector<Hypothesis> rivals;
  for (const Point* rival : c.points(among)) {
    std::vector<Hypothesis> beaten;
    for (const double x : among)
      beaten.push_back(c.curve.larger_is_better ? c.at_least(*c.curve.at(x), *rival, factor)
                                                : c.at_least(*rival, *c.curve.at(x), factor));
    rivals.push_back(Hypothesis::any_of(std::move(beaten)));
  }
  return Hypothesis::all_of(std::move(rivals));
}

std::optional<Hypothesis> ArgminIn::judge(const Case& c, Verdict& verdict) const {
  std::vector<const Point*> claimed;
  for (double x : among) {
    claimed.push_back(c.curve.at(x));
    if (claimed.back()) continue;
    not_run(verdict, fmt::format("{} = {} is no point of the sweep", c.axis, exact(x)));
    return std::nullopt;
  }
  const std::vector<const Point*> others = c.points(among);
  if (others.empty()) {
    not_run(verdict, "there is no other value to compare with");
    return std::nullopt;
  }
  const Point &inside = c.best(claimed), &rival = c.best(others), &best = c.best(c.points());
  const ConfidenceInterval ratio = c.ratio("ratio", rival, inside, others.size() * among.size());
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"argmin", best.x},
                     {"claimed_x", inside.x},
                     {"rival_x", rival.x},
                     {"ratio", c.value(rival) / c.value(inside)},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {ratio};
  verdict.measured = best.x;
  verdict.summary = fmt::format("best {}, {}", c.at(best), in_brackets(ratio));
  const std::string subject =
      &rival == &best ? "it" : fmt::format("at {}, the best of the others, the {}", c.at(rival), c.noun());
  verdict.found = fmt::format("the {} is at {}; {} is {} that at {}", c.best_noun(), c.at(best), subject,
                              in_brackets(ratio), c.at(inside));
  verdict.claimed =
      "every other is " + (factor > 1 ? fmt::format("at least {} times as bad", exact(factor)) : std::string("worse"));
  return says;
}

}  // namespace headroom::experiments
