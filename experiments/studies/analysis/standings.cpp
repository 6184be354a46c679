#include "experiments/studies/analysis/standings.h"

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/config/trial_facts.h"

namespace headroom::experiments {

using Standing = HeadChoice::Option::Standing;

Standing standing(const Case& c, const Point& p, double margin) {
  ClaimConfig claim = c.claim;
  claim.keys.at = p.x;
  claim.keys.factor = margin;
  const Case at_p{c.study, claim, c.curve, c.axis};
  const auto holds = [&](const char* kind) {
    return claim_kind(kind).hypothesis(at_p)->evidence_of_trusted().p <= at_p.significance();
  };
  if (holds("within_factor")) return Standing::as_good;
  return holds("worse_than_best") ? Standing::worse : Standing::open;
}

std::optional<Standings> standings(const Analysis& r, const std::string& series) {
  const bool is_trained = std::any_of(r.trials.begin(), r.trials.end(), [&](const TrialRecord& t) {
    return t.series == series && t.steps > 0 && r.facts(t).is_trained;
  });
  if (!is_trained || count_trials(r.trials) < r.planned) return std::nullopt;
  ClaimConfig claim;
  claim.log_error = true;
  claim.learned_at = learning_limit(r, &series);
  Curve all = curve_in_range(r, series, "", claim);
  std::erase_if(all.points, [](const Point& p) {
    return p.values.empty() ||
           std::any_of(p.values.begin(), p.values.end(), [](const auto& entry) { return !(entry.second > 0); });
  });
  if (all.points.size() < 2 || unlearned_best(all, claim.learned_at)) return std::nullopt;
  const Case c{r, claim, std::move(all), last_part(r.report.x_key)};
  const Point& best = c.best(c.points());
  Standings out{standard_effect(c.curve.metric), c.curve.metric, std::ssize(best.values)};
  for (const Point& p : c.curve.points) {
    out.seeds = std::min(out.seeds, std::ssize(p.values));
    out.at.emplace_back(p.x, &p == &best ? Standing::best : standing(c, p, out.margin));
  }
  return out;
}

}  // namespace headroom::experiments
