#include "experiments/studies/analysis/head_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/analysis/standings.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/analysis/tried.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/config/trial_facts.h"
#include "models/positions.h"

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;

/// What all trials of a curve have in common, and the facts of one at each x.
struct Architecture {
  std::map<double, const TrialFacts*> at;  ///< by x
  std::set<std::string> positions;
  std::set<int64_t> widths, steps, layers;
  const TrialFacts* first = nullptr;
};

/// A task in words; its kind itself where there are none.
std::string task_in_words(const TrialFacts& facts) {
  const std::string kind = facts.task + (facts.task == "linear-functional" ? " " + facts.kernel : "");
  static const std::map<std::string, std::string> words{{"linear-functional n-gram", "equal sums of the last tokens"},
                                                        {"volterra", "products of earlier tokens"},
                                                        {"retrieval", "sums of maxima over a sequence"},
                                                        {"induction-head", "copying and induction"},
                                                        {"next-token", "next token of a text"},
                                                        {"masked", "masked tokens of a text"}};
  if (const auto found = words.find(kind); found != words.end()) return found->second;
  return kind.starts_with("linear-functional ") ? "weighted sums of earlier tokens" : kind;
}

/// "alibi without scores" where the logits are switched off and only the distances are left.
std::string positions_of(const TrialFacts& facts) {
  return facts.has_scores ? facts.positions : facts.positions + " without scores";
}

/// Whether x is the width of a head, and not their number.
bool is_over_widths(const StudyResults& r) { return last_part(r.report.x_key) == "head_dim"; }

Architecture architecture_of(const Analysis& r, const std::string& series) {
  Architecture a;
  for (const TrialRecord& t : r.trials) {
    if (t.series != series || t.steps == 0) continue;
    const TrialFacts& facts = r.facts(t);
    if (!facts.is_trained) continue;
    a.at[t.x] = &facts;
    a.positions.insert(positions_of(facts));
    a.widths.insert(static_cast<int64_t>(facts.width.value_or(0)));
    a.steps.insert(static_cast<int64_t>(facts.steps.value_or(0)));
    a.layers.insert(static_cast<int64_t>(facts.layers.value_or(1)));
    if (!a.first) a.first = &facts;
  }
  return a;
}

/// One number of heads, with its ratio to the best of the others.
HeadChoice::Option option_at(const Case& c, const Point& p, const Point& rival, const Architecture& a, double margin) {
  const bool larger = c.curve.larger_is_better;
  const ConfidenceInterval ratio = c.ratio("ratio", larger ? rival : p, larger ? p : rival, c.curve.points.size() - 1);
  const TrialFacts& facts = *a.at.at(p.x);
  const double heads = is_over_widths(c.study) ? facts.heads : p.x;
  return {heads,      facts.qk_dim,           facts.v_dim, c.times_worse(p, rival), ratio.low,
          ratio.high, standing(c, p, margin), p.unlearned};
}

/// Whether all heads of a curve have D/H dimensions.
bool has_equal_widths(const HeadChoice& choice) {
  return std::all_of(choice.options.begin(), choice.options.end(), [&](const HeadChoice::Option& o) {
    return o.qk_dim == o.v_dim && o.qk_dim * o.heads == static_cast<double>(choice.width);
  });
}

/// HeadChoice::rate_off of the curve's best point.
double rate_off(const Analysis& r, const Curve& curve, const Point& best) {
  constexpr double most = 4.001;
  const std::string key = choice_key(r, &curve.series);
  if (key.empty()) return NAN;
  const Tried tried = tried_by_x(r, curve.series, key).at(best.x);
  const double chosen = best.choice.at(key);
  double off = NAN;
  for (const auto& [rate, metrics] : tried) {
    if (rate == chosen || std::max(rate / chosen, chosen / rate) > most) continue;
    std::vector<double> ratios;
    for (const auto& [seed, metric] : metrics) {
      const auto own = tried.at(chosen).find(seed);
      if (own == tried.at(chosen).end() || !std::isfinite(metric) || !std::isfinite(own->second)) continue;
      ratios.push_back(curve.larger_is_better ? own->second / metric : metric / own->second);
    }
    if (!ratios.empty()) off = std::fmax(off, geometric_mean(ratios));
  }
  return off;
}

/// How the numbers of heads stand that `heads_of` names, on those curves where it names one.
template <class HeadsOf>
ChoiceTally tally_of(const std::vector<const HeadChoice*>& curves, const HeadsOf& heads_of) {
  ChoiceTally tally;
  std::vector<double> times;
  for (const HeadChoice* const c : curves) {
    const std::optional<double> heads = heads_of(*c);
    if (!heads) continue;
    const HeadChoice::Option& option =
        *std::find_if(c->options.begin(), c->options.end(), [&](const auto& o) { return o.heads == *heads; });
    const bool is_best = option.standing == Standing::best;
    const Standing standing = c->tested(option);
    ++tally.curves;
    tally.best += is_best ? 1 : 0;
    tally.good += standing == Standing::as_good ? 1 : 0;
    times.push_back(std::max(option.ratio, 1.0));
    if (standing != Standing::worse) continue;
    ++tally.worse;
    tally.worst = std::max(tally.worst, is_best && c->found ? c->found->ratio : option.ratio);
  }
  if (!times.empty()) tally.times = geometric_mean(times);
  return tally;
}

}  // namespace

const HeadChoice::Option& HeadChoice::best() const {
  return *std::find_if(options.begin(), options.end(),
                       [](const Option& o) { return o.standing == Option::Standing::best; });
}

HeadChoice::Option::Standing HeadChoice::tested(const Option& option) const {
  return option.standing == Standing::best ? best_standing : option.standing;
}

std::vector<const HeadChoice*> distinct_learned(const std::vector<HeadChoice>& all) {
  std::vector<const HeadChoice*> out;
  for (const HeadChoice& c : all) {
    if (!c.is_learned || !c.is_tuned || !has_equal_widths(c)) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const HeadChoice* other) {
      return !c.setting.empty() && other->setting == c.setting && other->steps == c.steps && other->margin == c.margin;
    });
    if (same == out.end()) out.push_back(&c);
    else if (c.seeds > (*same)->seeds) *same = &c;
  }
  return out;
}

std::string positions_in_words(std::string positions) {
  const size_t end = std::min(positions.find(' '), positions.size());
  for (const models::PositionScheme& scheme : models::position_schemes())
    if (positions.compare(0, end, scheme.name) == 0) return scheme.words + positions.substr(end);
  return positions;
}

std::optional<HeadChoice> head_choice(const Analysis& r, const std::string& series) {
  if (last_part(r.report.x_key) != "heads" && !is_over_widths(r)) return std::nullopt;
  if (count_trials(r.trials) < r.planned) return std::nullopt;
  const Architecture a = architecture_of(r, series);
  if (a.widths.size() != 1 || a.positions.size() != 1) return std::nullopt;
  ClaimConfig claim;
  claim.log_error = true;
  claim.learned_at = learning_limit(r, &series);
  Curve all = curve_in_range(r, series, "", claim);
  Curve upward = all;  // from few heads to many
  if (is_over_widths(r)) std::reverse(upward.points.begin(), upward.points.end());
  const std::optional<double> found_x = search_upward(upward);
  std::erase_if(all.points, [&](const Point& p) {
    const bool has_ratio =
        std::all_of(p.values.begin(), p.values.end(), [](const auto& entry) { return entry.second > 0; });
    return p.values.size() < 2 || !has_ratio || !a.at.contains(p.x);
  });
  if (all.points.size() < 3) return std::nullopt;
  const Case c{r, claim, std::move(all), last_part(r.report.x_key)};
  const Point& best = c.best(c.points());
  HeadChoice choice{r.id,
                    r.profile,
                    series,
                    *a.positions.begin(),
                    *a.widths.begin(),
                    *a.steps.rbegin(),
                    standard_effect(c.curve.metric),
                    best.values.size(),
                    {},
                    {}};
  choice.kind = a.first->task;
  choice.metric = c.curve.metric;
  choice.task = task_in_words(*a.first);
  choice.token_dim = a.first->token_dim;
  choice.decay = a.first->decay;
  choice.rate_off = rate_off(r, c.curve, best);
  choice.best_mean = c.curve.mean(best);
  choice.layers = *a.layers.rbegin();
  choice.setting = a.first->setting;
  choice.is_learned = !unlearned_best(c.curve, claim.learned_at);
  for (const Point& p : c.curve.points) {
    choice.is_tuned = choice.is_tuned && p.single.empty() && p.is_held_out;
    choice.seeds = std::min(choice.seeds, p.values.size());
    const bool is_best = &p == &best;
    HeadChoice::Option option = option_at(c, p, is_best ? c.best(c.points({p.x})) : best, a, choice.margin);
    if (found_x == p.x) choice.found = option;
    if (is_best) {
      choice.best_standing = option.standing;
      option = {option.heads, option.qk_dim, option.v_dim,   c.times_worse(p, best),
                NAN,          NAN,           Standing::best, p.unlearned};
    }
    choice.options.push_back(option);
  }
  if (!is_over_widths(r)) return choice;
  std::reverse(choice.options.begin(), choice.options.end());
  return has_equal_widths(choice) ? std::optional(choice) : std::nullopt;
}

ChoiceTally guideline_tally(const std::vector<const HeadChoice*>& curves) {
  return tally_of(curves, [](const HeadChoice& c) { return c.found ? std::optional(c.found->heads) : std::nullopt; });
}

ChoiceTally always_wide(const std::vector<const HeadChoice*>& curves, double dim) {
  return tally_of(curves, [dim](const HeadChoice& c) {
    const auto found =
        std::find_if(c.options.begin(), c.options.end(), [dim](const auto& o) { return o.v_dim == dim; });
    return found == c.options.end() ? std::nullopt : std::optional(found->heads);
  });
}

std::optional<double> search_upward(const Curve& curve) {
  if (curve.points.size() < 3 || std::isnan(curve.mean(curve.points.front()))) return std::nullopt;
  for (const Point& p : curve.points)
    if (curve.mean(p) <= 0) return std::nullopt;
  const bool validated = is_validated(curve.all_points());
  const auto seen = [&](const Point& p) { return curve.chosen_by(p, validated); };
  const Point* found = &curve.points.front();
  for (const Point& next : curve.points) {
    if (&next == found) continue;
    if (!curve.better(seen(next), seen(*found))) break;
    found = &next;
  }
  return found->x;
}

}  // namespace headroom::experiments
