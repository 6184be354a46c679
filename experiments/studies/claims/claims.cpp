#include "experiments/studies/claims/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/decide.h"
#include "experiments/studies/claims/why.h"

namespace headroom::experiments {
namespace {

/// Why the curve cannot be judged at all; "" when it can.
std::string obstacle(const Case& c) {
  const ClaimConfig& claim = c.claim;
  if (const auto missing = missing_key(claim)) return fmt::format("{} needs {}", kind_name(claim), missing->purpose);
  const int64_t done = count_trials(c.results.trials);
  if (done < c.results.planned) return fmt::format("{} of {} trials are done", done, c.results.planned);
  if (c.curve.points.empty()) return claim.from || claim.to ? "no trial is in its range" : "the series has no trials";
  const auto x = std::visit([](const auto& kind) { return kind.required_x(); }, claim.kind);
  if (x && !c.curve.at(*x)) return fmt::format("{} = {} is no point of the sweep", c.axis, exact(*x));
  const bool ratios = !claim.deterministic && std::visit(
                                                  [&](const auto& kind) {
                                                    bool is_relative = claim.log_error;
                                                    if constexpr (requires { kind.factor; })
                                                      is_relative = is_relative || kind.factor > 1;
                                                    return kind.compares && is_relative;
                                                  },
                                                  claim.kind);
  for (const Point& p : c.curve.points)
    if (p.values.empty()) return fmt::format("no trial at {} finished", c.at(p));
  if (!ratios) return "";
  const std::string series = std::visit([](const auto& kind) { return kind.other_series(); }, claim.kind);
  const std::string metric = std::visit([](const auto& kind) { return kind.other_metric(); }, claim.kind);
  std::vector<Curve> compared{c.curve};
  if (!series.empty() || !metric.empty())
    compared.push_back(curve_in_range(c.results, series.empty() ? c.curve.series : series,
                                      metric.empty() ? c.curve.metric : metric, claim));
  for (const Curve& one : compared)
    for (const Point& p : one.points)
      for (const auto& entry : p.values)
        if (!(entry.second > 0))
          return fmt::format(
              "the claim compares logarithms, and {}{} reached {}: log_error = false compares differences",
              &one == &compared[0] ? "" : "what it is compared with at ", c.at(p), rounded(entry.second));
  return "";
}

std::string list(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

void note_weaknesses(const Case& c, Verdict& verdict) {
  if (!c.claim.single_rate.empty()) verdict.notes.push_back("rates not tuned for each x: " + c.claim.single_rate);
  std::map<std::pair<std::string, double>, std::vector<std::string>> edges, single;  // (key, value) → where
  for (const Point& p : c.curve.points) {
    if (!p.failed.empty())
      verdict.notes.push_back(fmt::format("at {} seed {} failed and is in no mean", c.at(p), list(p.failed)));
    if (!p.missing.empty()) verdict.notes.push_back(fmt::format("at {} seed {} was not run", c.at(p), list(p.missing)));
    for (const std::string& key : p.edges) edges[{key, p.choice.at(key)}].push_back(exact(p.x));
    for (const std::string& key : p.single) single[{key, p.choice.at(key)}].push_back(exact(p.x));
  }
  verdict.has_choice_at_edge = !edges.empty();
  for (const auto& [choice, xs] : edges)
    verdict.notes.push_back(fmt::format("at {} = {} the best {} is {}, an end of the values tried", c.axis,
                                        fmt::join(xs, ", "), last_part(choice.first), exact(choice.second)));
  for (const auto& [choice, xs] : single)
    verdict.notes.push_back(fmt::format("at {} = {} the {} is {}, and no other was tried", c.axis, fmt::join(xs, ", "),
                                        last_part(choice.first), exact(choice.second)));
}

/// The best value of the series that a claim compares, where not even that one has learned the target: in words.
std::optional<std::string> unlearned(const Case& c, const std::string& other) {
  const std::optional<double>& needed = c.claim.learned_at;
  if (c.claim.deterministic || !compares(c.claim)) return std::nullopt;
  std::optional<double> best = unlearned_best(c.curve, needed);
  if (best && !other.empty()) {
    const auto others = unlearned_best(curve_in_range(c.results, other, c.claim.metric, c.claim), needed);
    if (!others) return std::nullopt;
    if (c.curve.better(*others, *best)) best = others;
  }
  if (!best) return std::nullopt;
  if (!needed)
    return fmt::format("nothing was learned here, as even the least error leaves {} of the target's variance",
                       rounded(*best));
  return fmt::format("nothing was learned here, as even the best {} is {}, and learning takes {}", c.curve.metric,
                     rounded(*best), exact(*needed));
}

/// Where a claim compares trained models at values that were not chosen among several for each x, or whose best stands
/// at an end of those tried: which these are, in words. Another value may then turn the comparison.
std::optional<std::string> untuned(const Case& c, const std::string& other) {
  if (c.claim.deterministic || !compares(c.claim) || !c.claim.single_rate.empty()) return std::nullopt;
  std::set<std::string> alone, at_edge;  // keys
  const auto look = [&](const Curve& one) {
    for (const Point& p : one.points) {
      alone.insert(p.single.begin(), p.single.end());
      at_edge.insert(p.edges.begin(), p.edges.end());
    }
  };
  look(c.curve);
  if (!other.empty()) look(curve_in_range(c.results, other, c.claim.metric, c.claim));
  if (!alone.empty())
    return fmt::format("only one value of {} was tried, and which is best may depend on {}", last_part(*alone.begin()),
                       c.axis);
  if (!at_edge.empty())
    return fmt::format("the best {} stands at an end of the values tried, and a better one may lie beyond",
                       last_part(*at_edge.begin()));
  return std::nullopt;
}

/// What can be said of a claim before more than seeds has changed.
void leave_open(Verdict& verdict, const std::string& because) {
  verdict.status = VerdictStatus::undecided;
  verdict.seeds_needed.reset();
  verdict.sentence = fmt::format("{} Left open all the same: {}.", verdict.comparison(), because);
}

/// A verdict with what is known before anything is measured.
Verdict blank(const ClaimConfig& claim) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.paper = claim.paper_number ? claim.paper_number : paper_number(claim.reference);
  return verdict;
}

}  // namespace

std::string Verdict::comparison() const {
  if (found.empty()) return "";
  return capitalized(found) + "." + (claimed.empty() ? "" : fmt::format(" The claim: {}.", claimed));
}

std::vector<Verdict> judge(const StudyResults& results) {
  const auto names = series_names(results);
  std::vector<Verdict> verdicts;
  std::vector<std::optional<Hypothesis>> hypotheses;
  std::vector<std::optional<std::string>> open;  // why a claim stays open whatever its p-values are
  for (const ClaimConfig& claim : results.claims) {
    std::optional<Hypothesis> hypothesis;
    const std::string series = claim.series.empty() && names.size() == 1 ? names[0] : claim.series;
    const std::string other = std::visit([](const auto& kind) { return kind.other_series(); }, claim.kind);
    for (const std::string& wanted : {series, other.empty() ? series : other})
      require(std::count(names.begin(), names.end(), wanted) > 0, "claim {}: the study has no series '{}'; it has {}",
              kind_name(claim), wanted, fmt::join(names, ", "));
    Verdict verdict = blank(claim);
    std::optional<std::string>& reason_to_wait = open.emplace_back();
    try {
      const Case c{results, claim, curve_in_range(results, series, claim.metric, claim),
                   last_part(results.report.x_key)};
      if (const std::string reason = obstacle(c); !reason.empty()) not_run(verdict, reason);
      else hypothesis = std::visit([&](const auto& kind) { return kind.judge(c, verdict); }, claim.kind);
      if (hypothesis) reason_to_wait = unlearned(c, other);
      verdict.is_learned = !reason_to_wait;
      if (hypothesis && verdict.is_learned) reason_to_wait = untuned(c, other);
      verdict.is_tuned = !verdict.is_learned || !reason_to_wait;
      note_weaknesses(c, verdict);
    } catch (const Error& error) {  // a metric that the trials lack leaves one claim open, not the report
      not_run(verdict, error.what());
    }
    const bool judged = hypothesis || verdict.status != VerdictStatus::not_run;
    if (judged && !claim.reference.empty() && verdict.beside.empty())
      verdict.beside.emplace_back(claim.reference, verdict.measured);
    if (judged) verdict.why = filled_in(verdict, results, series);
    if (judged) verdict.sentence = verdict.comparison();
    verdicts.push_back(std::move(verdict));
    hypotheses.push_back(std::move(hypothesis));
  }
  decide(verdicts, hypotheses, results.level);
  for (size_t i = 0; i < verdicts.size(); ++i)
    if (open[i]) leave_open(verdicts[i], *open[i]);
  return verdicts;
}

std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason) {
  std::vector<Verdict> verdicts;
  for (const ClaimConfig& claim : claims) {
    verdicts.push_back(blank(claim));
    not_run(verdicts.back(), reason);
  }
  return verdicts;
}

const char* name(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::pass:
      return "pass";
    case VerdictStatus::fail:
      return "fail";
    case VerdictStatus::undecided:
      return "undecided";
    case VerdictStatus::not_run:
      return "not run";
  }
  return "";
}

}  // namespace headroom::experiments
