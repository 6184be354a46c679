#include "experiments/studies/analysis/case.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/claims/smallest_effect.h"

namespace headroom::experiments {

std::vector<Curve> compared_curves(const Case& c) {
  const std::string& other = c.claim.keys.than.series;
  std::vector<Curve> curves{c.curve};
  if (!other.empty()) curves.push_back(curve_in_range(c.study, other, c.claim.metric, c.claim));
  return curves;
}

std::optional<std::string> unlearned(const Case& c) {
  if (c.claim.deterministic || !c.claim.kind->compares) return std::nullopt;
  double best = NAN;
  for (const Curve& one : compared_curves(c)) {
    const std::optional<double> unlearned = unlearned_best(one, c.claim.learned_at);
    if (!unlearned) return std::nullopt;
    if (one.better(*unlearned, best)) best = *unlearned;
  }
  if (!c.claim.learned_at && !c.curve.floor)
    return fmt::format("nothing was learned here, as even the least error leaves {} of the target's variance",
                       rounded(best));
  const std::string limit = exact(*learned_limit(c.curve, c.claim.learned_at));
  return fmt::format("nothing was learned here, as even the best {} is {}, and {}", c.curve.metric, rounded(best),
                     c.claim.learned_at ? "learning takes " + limit
                                        : "a table that sees one token and no other place reaches " + limit);
}

std::vector<Hindrance> hindrances(const Case& c) {
  if (c.claim.deterministic || !c.claim.kind->compares) return {};
  std::set<std::string> alone, at_edge, reported;  // keys
  size_t seeds = 0;
  bool is_rate_unknown = false;
  const char* const excuse = c.study.foreign ? "; single_rate may say why that is enough" : "";
  const std::string rate = "train.optimizer.lr";
  for (const Curve& one : compared_curves(c))
    for (const Point& p : one.points) {
      if (p.is_trained && c.study.report.x_key != rate && !p.choice.contains(rate)) alone.insert(rate);
      is_rate_unknown |= c.study.foreign && p.choice.empty();
      alone.insert(p.single.begin(), p.single.end());
      at_edge.insert(p.edges.begin(), p.edges.end());
      if (!p.is_held_out) reported.insert(p.choice.empty() ? "value" : p.choice.begin()->first);
      seeds = std::max(seeds, p.values.size());
    }
  using What = Hindrance::What;
  std::vector<Hindrance> found;
  const bool is_excused = !c.claim.single_rate.empty();
  if (is_rate_unknown && !is_excused)
    found.push_back({What::one_value, "rate",
                     "nothing says that each arm had its best learning rate; name the rate's column as rate in [runs], "
                     "or say in single_rate why one is enough"});
  else if (!alone.empty() && !is_excused)
    found.push_back({What::one_value, *alone.begin(),
                     fmt::format("only one value of {} was tried, and which is best may depend on {}{}",
                                 last_part(*alone.begin()), c.axis.empty() ? "the arm" : c.axis, excuse)});
  else if (!at_edge.empty() && !is_excused)
    found.push_back({What::end_of_values, *at_edge.begin(),
                     fmt::format("the best {} stands at an end of the values tried, and a better one may lie beyond{}",
                                 last_part(*at_edge.begin()), excuse)});
  if (!reported.empty())
    found.push_back(
        {What::reported_items, "task.test",
         fmt::format("the best {} was chosen on the very items that are reported{}", last_part(*reported.begin()),
                     c.study.foreign ? "; choose = a validation metric in [runs] mends that" : "")});
  if (seeds < 2) found.push_back({What::one_seed, "sweep.seed", ""});
  return found;
}

std::optional<std::string> outgrown(const Case& c) {
  if (c.claim.deterministic || !c.claim.kind->compares || c.curve.metric != "cross_entropy") return std::nullopt;
  const double effect = standard_effect(c.curve.metric);
  double least = effect;
  std::optional<std::string> reason;
  for (const Curve& one : compared_curves(c))
    for (const Point& small : one.points)
      for (const Point& large : one.points) {
        const double gain = one.mean(small) / one.mean(large);
        if (small.parameters == 0 || large.parameters < 2 * small.parameters || !(gain < least)) continue;
        least = gain;
        reason = fmt::format(
            "at {} = {}{} the model has {} times the parameters of that at {} and is not {} times "
            "better ({} against {}), so how well it was trained decides",
            c.axis, exact(large.x), one.series == c.curve.series ? "" : " of " + one.series,
            rounded(static_cast<double>(large.parameters) / static_cast<double>(small.parameters)), exact(small.x),
            exact(effect), rounded(one.mean(large)), rounded(one.mean(small)));
      }
  return reason;
}

}  // namespace headroom::experiments
