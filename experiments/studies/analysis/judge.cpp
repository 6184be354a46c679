#include "experiments/studies/analysis/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/analysis/hypothesis.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/claims/why.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// Why the curve cannot be judged at all; "" when it can.
std::string obstacle(const Case& c) {
  const ClaimConfig& claim = c.claim;
  const ClaimKind& kind = *claim.kind;
  const std::vector<Point>& points = c.curve.points;
  if (const auto missing = missing_key(claim)) return fmt::format("{} needs {}", kind.name, missing->purpose);
  const int64_t done = count_trials(c.study.trials);
  if (done < c.study.planned) return fmt::format("{} of {} trials are done", done, c.study.planned);
  if (points.empty()) return claim.from || claim.to ? "no trial is in its range" : "the series has no trials";
  if (claim.keys.at && !c.curve.at(*claim.keys.at))
    return fmt::format("{} = {} is no point of the sweep", c.axis, exact(*claim.keys.at));
  if (points.size() < kind.least_points)
    return fmt::format("{} needs {} values of {}", kind.what, kind.least_points, c.axis);
  for (const Point& p : points)
    if (p.values.empty()) return fmt::format("no trial at {} finished", c.at(p));
  if (c.is_computed() || !kind.compares || !(claim.log_error || claim.keys.factor > 1)) return "";
  const Curve rivals = c.rivals();
  for (const Curve* one : {&c.curve, &rivals})
    for (const Point& p : one->points)
      for (const auto& entry : p.values)
        if (!(entry.second > 0))
          return fmt::format("the claim compares {}, and {}{} reached {}: {}",
                             claim.log_error ? "logarithms" : "with a factor",
                             one == &c.curve ? "" : "what it is compared with at ", c.at(p), rounded(entry.second),
                             claim.log_error ? "log_error = false compares differences"
                                             : "without the factor it compares differences");
  return "";
}

std::string list(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

void note_weaknesses(const Case& c, Verdict& verdict) {
  if (!c.claim.single_rate.empty()) verdict.notes.push_back("rates not tuned for each x: " + c.claim.single_rate);
  std::map<std::pair<std::string, double>, std::vector<std::string>> edges, single;  // (key, value) → where
  for (const Point& p : c.curve.points) {
    if (!p.failed.empty())
      verdict.notes.push_back(fmt::format("at {} seed {} failed and is in no mean", c.at(p), list(p.failed)));
    if (!p.may_be_more.empty())
      verdict.notes.push_back(fmt::format("at {} {} of {} seeds did not get there: a lower bound for such a seed",
                                          c.at(p), p.may_be_more.size(), p.values.size()));
    if (!p.missing.empty() && !c.study.foreign)
      verdict.notes.push_back(fmt::format("at {} seed {} was not run", c.at(p), list(p.missing)));
    for (const std::string& key : p.edges) edges[{key, p.choice.at(key)}].push_back(exact(p.x));
    for (const std::string& key : p.single) single[{key, p.choice.at(key)}].push_back(exact(p.x));
  }
  const bool is_unpaired = std::any_of(verdict.intervals.begin(), verdict.intervals.end(),
                                       [](const auto& i) { return i.method.starts_with("unpaired"); });
  if (is_unpaired)
    verdict.notes.emplace_back(c.study.foreign->has_seeds ? "the seeds do not pair, so the runs are compared unpaired"
                                                          : "no seeds are known, so the runs are compared unpaired");
  verdict.has_choice_at_edge = !edges.empty();
  for (const auto& [choice, xs] : edges)
    verdict.notes.push_back(fmt::format("at {} = {} the best {} is {}, an end of the values tried", c.axis,
                                        fmt::join(xs, ", "), last_part(choice.first), exact(choice.second)));
  for (const auto& [choice, xs] : single)
    verdict.notes.push_back(fmt::format("at {} = {} the {} is {}, and no other was tried", c.axis, fmt::join(xs, ", "),
                                        last_part(choice.first), exact(choice.second)));
}

/// The updates that each trial did which the claim compares; none where they differ, and where nothing was trained.
std::optional<int64_t> steps_of(const std::vector<Curve>& curves) {
  std::set<int64_t> steps;
  for (const Curve& one : curves)
    for (const Point& p : one.points) steps.insert(p.steps.begin(), p.steps.end());
  return steps.size() == 1 && *steps.begin() > 0 ? std::optional(*steps.begin()) : std::nullopt;
}

/// "no seed learned the target at heads = 8, 16; only 2 of 3 seeds learned the target at heads = 1"; "" for none.
std::string reservations_of(const Hypothesis& hypothesis) {
  std::string text, before;
  for (const auto& [why, x] : hypothesis.reservations()) {
    text += why == before ? fmt::format(", {}", exact(x))
                          : fmt::format("{}{} = {}", text.empty() ? "" : "; ", why, exact(x));
    before = why;
  }
  return text;
}

/// Where trained models are compared: after how many steps, and which were still getting better. How long a step takes
/// does not depend on how many came before.
void note_training(const Case& c, Verdict& verdict) {
  if (c.claim.deterministic || !c.claim.kind->compares || tasks::is_clock_metric(c.curve.metric)) return;
  const std::vector<Curve> curves = compared_curves(c);
  verdict.steps = steps_of(curves);
  for (const Curve& one : curves) {
    const double margin = c.claim.keys.factor > 1 ? c.claim.keys.factor : standard_effect(one.metric);
    std::vector<std::string> xs;
    double most = 0;
    for (const Point& p : one.points) {
      std::vector<double> gains;
      for (const auto& entry : p.last_gain) gains.push_back(entry.second);
      const double gain = geometric_mean(gains);
      if (!(gain > margin)) continue;
      xs.push_back(exact(p.x));
      most = std::max(most, gain);
    }
    if (!xs.empty())
      verdict.notes.push_back(
          fmt::format("at {} = {}{} the learning curve still {} by up to {}× in the last tenth of the training", c.axis,
                      fmt::join(xs, ", "), one.series == c.curve.series ? "" : " of " + one.series,
                      one.larger_is_better ? "rose" : "fell", rounded(most)));
  }
}

/// More seeds alone will not decide it.
void leave_open(Verdict& verdict, const std::string& because) {
  verdict.status = VerdictStatus::undecided;
  verdict.seeds_needed.reset();
  verdict.open.clear();
  verdict.reason = because;
}

/// A verdict with what is known before anything is measured.
Verdict blank(const ClaimConfig& claim) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.paper = claim.paper_number ? claim.paper_number : paper_number(claim.reference);
  return verdict;
}

VerdictStatus status_of(const Hypothesis::Evidence& evidence, double significance) {
  if (evidence.p <= significance) return VerdictStatus::pass;
  return evidence.p_against <= significance ? VerdictStatus::fail : VerdictStatus::undecided;
}

/// Holm's step at which the first hypothesis was kept: what the largest p-value would have to be below.
double next_step(const std::vector<double>& adjusted, double significance) {
  const auto rejected = std::count_if(adjusted.begin(), adjusted.end(), [&](double p) { return p <= significance; });
  return significance / static_cast<double>(std::max<int64_t>(1, std::ssize(adjusted) - rejected));
}

/// Where further seeds may decide a claim, at the levels of this look; nowhere where the chance that they do by the
/// last one is below one in ten, whatever of the significance a look may spend. So what is given up has p-values that
/// would reach no level of later looks either, and claims that are judged again on the same data stay undecided.
std::set<SeriesAndX> open_to_seeds(const Verdict& v, const Hypothesis& hypothesis, double level, double level_against,
                                   const LooksTaken& looks) {
  if (*hypothesis.seeds() >= looks.at_most) return {};
  const Hypothesis::Evidence hoped = hypothesis.hoped_for(static_cast<int>(looks.at_most));
  const double most = v.claim.significance * *std::max_element(looks.shares.begin(), looks.shares.end());
  if (hoped.p > most && hoped.p_against > most) return {};
  return hypothesis.open(level, level_against);
}

/// Where two claims that exclude each other would both pass, neither does.
void exclude(std::vector<Verdict>& verdicts) {
  std::vector<std::pair<Verdict*, Verdict*>> both;
  for (Verdict& a : verdicts)
    for (Verdict& b : verdicts)
      if (&a != &b && a.status == VerdictStatus::pass && b.status == VerdictStatus::pass && !b.claim.id.empty() &&
          std::count(a.claim.excludes.begin(), a.claim.excludes.end(), b.claim.id) > 0)
        both.emplace_back(&a, &b);
  const auto leave = [](Verdict& v, const std::string& why) {
    leave_open(v, why);
    v.margin = Verdict::none;  // no number of seeds decides between the two
    v.notes.push_back(why);
  };
  for (const auto& [a, b] : both) {
    leave(*a, fmt::format("the data also support “{}”, which this claim excludes", b->claim.id));
    leave(*b, fmt::format("the data also support “{}”, which excludes this claim", claim_name(a->claim)));
  }
}

/// Leaves a verdict open that only comparisons with an x make which some seeds did not learn: those that remain do not
/// reach the significance, at Holm's step for this claim.
void require_learning(Verdict& v, const Hypothesis& hypothesis, double significance) {
  const std::string reasons = reservations_of(hypothesis);
  if (reasons.empty() || v.status == VerdictStatus::undecided) return;
  const Hypothesis::Evidence all = hypothesis.evidence(), rest = hypothesis.evidence_of_trusted();
  const bool passes = v.status == VerdictStatus::pass;
  const double adjusted = passes ? v.p : v.p_against, p = passes ? all.p : all.p_against;
  const double remaining = passes ? rest.p : rest.p_against;
  if (remaining == p || remaining * adjusted <= significance * p) return;
  v.is_learned = false;
  leave_open(v, reasons);
}

/// Gives each verdict of a study its status, p-values and closing words. hypotheses[i] is what decides verdicts[i]:
/// none where that is decided already. Holm's order is that of p-values over the shares that their claims may spend:
/// then none is held to a share that is not its own, and the bound over all claims is the sum over the looks.
void decide(std::vector<Verdict>& verdicts, const std::vector<std::optional<Hypothesis>>& hypotheses,
            const StudyResults& results) {
  std::vector<size_t> sampled;
  std::vector<double> share, p, p_against;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (!hypotheses[i]) continue;
    verdicts[i].margin = hypotheses[i]->margin();
    const Hypothesis::Evidence evidence = hypotheses[i]->evidence();
    if (!hypotheses[i]->seeds()) {
      verdicts[i].status = verdicts[i].tested = status_of(evidence, 0);
      continue;
    }
    sampled.push_back(i);
    share.push_back(results.looks.share(series_of(results, verdicts[i].claim)));
    p.push_back(evidence.p);
    p_against.push_back(evidence.p_against);
  }
  const double least = share.empty() ? 1 : *std::min_element(share.begin(), share.end());
  for (size_t j = 0; j < sampled.size(); ++j) {
    p[j] *= least / share[j];
    p_against[j] *= least / share[j];
  }
  for (std::vector<double>* all : {&p, &p_against}) all->resize(all->size() + results.claims_to_come, 1);
  const std::vector<double> adjusted = holm(p), adjusted_against = holm(p_against);
  for (size_t j = 0; j < sampled.size(); ++j) {
    Verdict& v = verdicts[sampled[j]];
    const Hypothesis& hypothesis = *hypotheses[sampled[j]];
    const double significance = v.claim.significance * share[j], own = share[j] / least;
    v.p = std::min(1.0, adjusted[j] * own);
    v.p_against = std::min(1.0, adjusted_against[j] * own);
    v.status = status_of({v.p, v.p_against}, significance);
    if (v.status == VerdictStatus::undecided && !v.claim.deterministic) {
      const double next = own * next_step(adjusted, significance / own),
                   next_against = own * next_step(adjusted_against, significance / own);
      v.seeds_needed = seeds_to_decide(hypothesis, next, next_against);
      v.open = open_to_seeds(v, hypothesis, next, next_against, results.looks);
    }
    v.tested = v.status;
    v.has_spread = !hypothesis.has_no_spread();
    if (v.claim.deterministic)
      v.notes.emplace_back("the interval is over parts of the text: other texts may differ by more");
    if (!hypothesis.has_parts())
      v.notes.emplace_back("the interval covers seeds only, not the error of the finite test data");
    require_learning(v, hypothesis, significance);
  }
  exclude(verdicts);
}

/// What a place in a claim's `why` asks for; NaN where it was not measured.
double measured_at(const Analysis& study, const Verdict& verdict, const std::string& series, const WhyPlace& place) {
  if (!place.x) return verdict.number(place.name);
  try {
    const Curve& found = study.curve(place.series.empty() ? series : place.series, place.name);
    if (const Point* point = found.at(*place.x)) return found.mean(*point);
  } catch (const Error&) {  // a metric that the trials lack
  }
  return Verdict::none;
}

/// Measures what one claim speaks of. Returns what its verdict hangs on; none where that is counted, or not judged.
std::optional<Hypothesis> measure(const Case& c, Verdict& verdict) {
  verdict.axis = c.axis;
  verdict.metric = c.curve.metric;
  verdict.is_larger_better = c.curve.larger_is_better;
  if (verdict.reason = obstacle(c); !verdict.reason.empty()) return std::nullopt;
  const ClaimKind& kind = *c.claim.kind;
  try {
    static_cast<Finding&>(verdict) = kind.measure(c);
  } catch (const Error& error) {
    verdict.reason = error.what();
    return std::nullopt;
  }
  for (size_t i = 0; i < verdict.values.size(); ++i)
    verdict.numbers.emplace_back(kind.numbers.at(i), verdict.values[i]);
  if (verdict.unjudged > 0)
    verdict.notes.push_back(fmt::format("{} trials lack a value or a bound and are not judged", verdict.unjudged));
  if (verdict.holds) verdict.status = *verdict.holds ? VerdictStatus::pass : VerdictStatus::fail;
  return kind.hypothesis(c);
}

}  // namespace

double Verdict::number(const std::string& name) const {
  for (const auto& [own, value] : numbers)
    if (own == name) return value;
  return none;
}

bool is_decided(const Verdict& v) { return v.status == VerdictStatus::pass || v.status == VerdictStatus::fail; }

std::vector<Verdict> Analysis::judge() const {
  const auto names = series_names(*this);
  std::vector<Verdict> verdicts;
  std::vector<std::optional<Hypothesis>> hypotheses;
  std::vector<std::optional<std::string>> open,
      stalled;  // whatever its p-values are, and where they leave it undecided
  for (const ClaimConfig& claim : claims) {
    const std::string series = claim.series.empty() && names.size() == 1 ? names[0] : claim.series;
    const std::string& other = claim.keys.than.series;
    for (const std::string& wanted : {series, other.empty() ? series : other})
      require(std::count(names.begin(), names.end(), wanted) > 0, "claim {}: the study has no series '{}'; it has {}",
              claim.kind->name, wanted, fmt::join(names, ", "));
    Verdict& verdict = verdicts.emplace_back(blank(claim));
    std::optional<Hypothesis>& hypothesis = hypotheses.emplace_back();
    std::optional<std::string>& reason_to_wait = open.emplace_back();
    std::optional<std::string>& no_remedy = stalled.emplace_back();
    try {
      const Case c{*this, claim, curve_in_range(*this, series, claim.metric, claim), last_part(report.x_key)};
      if ((hypothesis = measure(c, verdict))) {
        verdict.numbers.emplace_back("seeds", c.claim.deterministic ? 1 : hypothesis->seeds().value_or(1));
        reason_to_wait = unlearned(c);
        verdict.is_learned = !reason_to_wait;
        verdict.hindrances = hindrances(c);
        if (!reason_to_wait && !verdict.hindrances.empty() && !verdict.hindrances[0].reason.empty()) {
          reason_to_wait = verdict.hindrances[0].reason;
          verdict.is_tuned = verdict.hindrances[0].what == Hindrance::What::reported_items;
          if (verdict.is_tuned) verdict.needs = "a test set apart from the items that rates are chosen on";
        }
        no_remedy = outgrown(c);
        note_training(c, verdict);
        if (const std::string why = reservations_of(*hypothesis); !why.empty())
          verdict.notes.push_back(why + ": models that did not learn decide nothing");
      }
      note_weaknesses(c, verdict);
    } catch (const Error& error) {  // a metric that the trials lack leaves one claim open, not the report
      verdict.reason = error.what();
      hypothesis.reset();
    }
    if (!hypothesis && verdict.status == VerdictStatus::not_run) continue;
    if (!claim.reference.empty() && verdict.beside.empty())
      verdict.beside.emplace_back(claim.reference, verdict.measured);
    verdict.why =
        filled_in(claim.why, [&](const WhyPlace& place) { return measured_at(*this, verdict, series, place); });
  }
  decide(verdicts, hypotheses, *this);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    Verdict& v = verdicts[i];
    if (open[i]) leave_open(v, *open[i]);
    if (open[i] || !stalled[i] || v.status != VerdictStatus::undecided || !v.is_learned) continue;
    v.needs = "training, or rates, that make the larger models better";
    leave_open(v, *stalled[i]);
  }
  return verdicts;
}

std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason) {
  std::vector<Verdict> verdicts;
  for (const ClaimConfig& claim : claims) {
    verdicts.push_back(blank(claim));
    verdicts.back().reason = reason;
  }
  return verdicts;
}

const char* name(VerdictStatus status) {
  static constexpr const char* names[] = {"pass", "fail", "undecided", "not run"};
  return names[static_cast<size_t>(status)];
}

}  // namespace headroom::experiments
