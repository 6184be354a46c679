#include "experiments/claims/claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/claims/case.h"
#include "experiments/claims/number.h"

namespace headroom::experiments {
namespace {

using Judge = void (*)(const Case&, Verdict&);
const std::vector<std::pair<std::string, Judge>> kJudges = {{"interior_optimum", judge_interior_optimum},
                                                            {"argmin_in", judge_argmin_in},
                                                            {"within_factor", judge_within_factor},
                                                            {"worse_than_best", judge_worse_than_best},
                                                            {"monotone", judge_monotone},
                                                            {"slope", judge_slope},
                                                            {"saturates", judge_saturates},
                                                            {"band", judge_band},
                                                            {"less_than", judge_less_than},
                                                            {"bound_holds", judge_bound_holds},
                                                            {"within_percent", judge_within_percent}};

/// Why the curve cannot be judged at all; "" when it can.
std::string obstacle(const Case& c) {
  const ClaimConfig& claim = c.claim;
  if (const auto missing = missing_field(claim)) return fmt::format("{} wants {}", claim.kind, missing->purpose);
  const auto done = std::ssize(c.results.trials);
  if (done < c.results.planned) return fmt::format("{} of {} trials are done", done, c.results.planned);
  if (c.curve.points.empty()) return claim.from || claim.to ? "no trial is in its range" : "the series has no trials";
  if (claim.at && !c.curve.at(*claim.at))
    return fmt::format("{} = {} is no point of the sweep", c.axis, exact(*claim.at));
  // Only these claims divide errors or take their logarithm.
  const bool ratios = claim.log_error || claim.kind == "within_factor" || (claim.factor > 1 && claim.kind != "band");
  for (const Point& p : c.curve.points) {
    if (p.values.empty()) return fmt::format("no trial at {} finished", c.at(p));
    for (const auto& entry : p.values)
      if (ratios && !(entry.second > 0))
        return fmt::format("the claim compares ratios of errors, and {} reached {}", c.at(p), rounded(entry.second));
  }
  return "";
}

std::string list(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

void note_weaknesses(const Case& c, Verdict& verdict) {
  std::map<std::pair<std::string, double>, std::vector<std::string>> edges;  // (key, value) → where it was best
  for (const Point& p : c.curve.points) {
    if (!p.failed.empty())
      verdict.notes.push_back(fmt::format("at {} seed {} failed and is in no mean", c.at(p), list(p.failed)));
    if (!p.missing.empty()) verdict.notes.push_back(fmt::format("at {} seed {} was not run", c.at(p), list(p.missing)));
    for (const std::string& key : p.edges) edges[{key, p.choice.at(key)}].push_back(exact(p.x));
  }
  for (const auto& [choice, xs] : edges)
    verdict.notes.push_back(fmt::format("at {} = {} the best {} is {}, an end of the values tried", c.axis,
                                        fmt::join(xs, ", "), last_part(choice.first), exact(choice.second)));
}

/// A verdict with what is known before anything is measured.
Verdict blank(const ClaimConfig& claim) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.paper = claim.paper_number ? claim.paper_number : paper_number(claim.reference);
  return verdict;
}

}  // namespace

std::vector<Verdict> judge(const StudyResults& results) {
  const auto names = series_names(results);
  std::vector<Verdict> verdicts;
  for (const ClaimConfig& claim : results.claims) {
    const auto judge_of =
        std::find_if(kJudges.begin(), kJudges.end(), [&](const auto& j) { return j.first == claim.kind; });
    require(judge_of != kJudges.end(), "claim: unknown kind '{}'; known are {}", claim.kind,
            fmt::join(claim_kinds(), ", "));
    const std::string series = claim.series.empty() && names.size() == 1 ? names[0] : claim.series;
    for (const std::string& wanted : {series, claim.than.series.empty() ? series : claim.than.series})
      require(std::count(names.begin(), names.end(), wanted) > 0, "claim {}: the study has no series '{}'; it has {}",
              claim.kind, wanted, fmt::join(names, ", "));
    Verdict verdict = blank(claim);
    try {
      const Case c{results, claim, curve_in_range(results, series, claim.metric, claim),
                   last_part(results.report.x_key)};
      if (const std::string reason = obstacle(c); !reason.empty()) not_run(verdict, reason);
      else judge_of->second(c, verdict);
      note_weaknesses(c, verdict);
    } catch (const Error& error) {  // a metric that the trials lack leaves one claim open, not the report
      not_run(verdict, error.what());
    }
    const bool judged = verdict.status != VerdictStatus::not_run;
    if (judged && !claim.reference.empty() && verdict.beside.empty())
      verdict.beside.emplace_back(claim.reference, verdict.measured);
    verdicts.push_back(std::move(verdict));
  }
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

std::optional<MissingField> missing_field(const ClaimConfig& claim) {
  const std::string& kind = claim.kind;
  const bool limits = claim.low || claim.high;
  const bool rival = !claim.than.series.empty() || !claim.than.metric.empty() || claim.than.at;
  const bool target = !claim.of.empty() || claim.value || claim.paper_number || !claim.reference.empty();
  if (kind == "argmin_in" && claim.among.empty()) return MissingField{"among", "the x that may be the best"};
  if ((kind == "within_factor" || kind == "worse_than_best") && !claim.at)
    return MissingField{"at", "the x to be judged"};
  if (kind == "monotone" && claim.direction.empty()) return MissingField{"direction", "falling or rising"};
  if (kind == "slope" && !limits) return MissingField{"low", "low, high or both: the interval that is claimed"};
  if (kind == "band" && !limits && !(claim.factor > 1)) return MissingField{"low", "low, high or factor: the band"};
  if (kind == "less_than" && !rival) return MissingField{"than", "the series, metric or at of what is larger"};
  if (kind == "bound_holds" && claim.bound.empty()) return MissingField{"bound", "a metric or \"overlay\""};
  if (kind == "within_percent" && !target) return MissingField{"of", "of, value or reference: the target"};
  return std::nullopt;
}

const std::vector<std::string>& claim_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const auto& judge_of : kJudges) names.push_back(judge_of.first);
    return names;
  }();
  return kinds;
}

const char* name(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::pass:
      return "pass";
    case VerdictStatus::fail:
      return "fail";
    case VerdictStatus::underpowered:
      return "underpowered";
    case VerdictStatus::not_run:
      return "not run";
  }
  return "";
}

std::string claim_name(const ClaimConfig& claim) {
  std::string text = claim.kind;
  const auto interval = [&] {
    return fmt::format(" [{}, {}]", claim.low ? exact(*claim.low) : "−∞", claim.high ? exact(*claim.high) : "∞");
  };
  std::vector<std::string> among;
  for (double x : claim.among) among.push_back(exact(x));
  if (!among.empty()) text += fmt::format(" [{}]", fmt::join(among, ", "));
  if (claim.kind == "within_factor" && claim.at)
    text += fmt::format(" {} ≤ {}×", exact(*claim.at), exact(claim.factor));
  else if (claim.at) text += " at " + exact(*claim.at);
  if (claim.kind == "monotone") text += " " + claim.direction;
  if (claim.kind == "slope" || (claim.kind == "band" && (claim.low || claim.high))) text += interval();
  if (claim.kind == "band" && claim.factor > 1) text += fmt::format(" max/min ≤ {}", exact(claim.factor));
  if (claim.kind == "less_than") {
    if (!claim.than.series.empty()) text += " " + claim.than.series;
    if (!claim.than.metric.empty()) text += " " + claim.than.metric;
    if (claim.than.at) text += " at " + exact(*claim.than.at);
  }
  if (claim.kind == "bound_holds") text += " " + claim.bound;
  if (claim.kind == "within_percent") {
    text += fmt::format(" {} % of {}", exact(claim.percent),
                        !claim.of.empty() ? claim.of
                        : claim.value     ? exact(*claim.value)
                                          : "the paper's");
  }
  if (claim.from || claim.to)
    text += fmt::format(" on {}…{}", claim.from ? exact(*claim.from) : "", claim.to ? exact(*claim.to) : "");
  if (!claim.metric.empty()) text += " · " + claim.metric;
  if (!claim.series.empty()) text += " · " + claim.series;
  return text;
}

}  // namespace headroom::experiments
