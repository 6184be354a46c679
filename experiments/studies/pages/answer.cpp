#include "experiments/studies/pages/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "experiments/output/number.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

using Names = std::vector<std::string>;

/// A semicolon beside what has commas of its own.
const char* separator(const Names& parts) {
  const auto has_comma = [](const std::string& part) { return part.find(',') != std::string::npos; };
  return std::any_of(parts.begin(), parts.end(), has_comma) ? "; " : ", ";
}

/// Verdicts on one claim in several series.
struct ClaimGroup {
  std::string words;
  ClaimSource source = ClaimSource::ours;
  std::map<VerdictStatus, Names> series;  ///< those with a verdict

  size_t decided() const { return count(VerdictStatus::pass) + count(VerdictStatus::fail); }
  size_t count(VerdictStatus status) const { return series.count(status) ? series.at(status).size() : 0; }
};

/// The claim on which most series have a decided verdict; the paper's before others.
ClaimGroup largest_group(const std::vector<Verdict>& verdicts) {
  std::vector<ClaimGroup> groups;
  for (const Verdict& v : verdicts) {
    const std::string words = in_words(v.claim);
    auto found = std::find_if(groups.begin(), groups.end(), [&](const ClaimGroup& g) { return g.words == words; });
    if (found == groups.end()) found = groups.insert(found, ClaimGroup{words, source(v.claim), {}});
    Names& names = found->series[v.status];
    if (std::count(names.begin(), names.end(), v.claim.series) == 0) names.push_back(v.claim.series);
  }
  return *std::max_element(groups.begin(), groups.end(), [](const ClaimGroup& a, const ClaimGroup& b) {
    return std::tuple(a.decided(), a.source == ClaimSource::paper) <
           std::tuple(b.decided(), b.source == ClaimSource::paper);
  });
}

/// "a", "a and b", "a, b and c", "a, 1; b, 1 and c", and of more than four only how many.
std::string with_and(const Names& names) {
  constexpr size_t most = 4;
  if (names.size() > most) return fmt::format("{} series", names.size());
  if (names.size() < 2) return names.empty() ? "" : names[0];
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, separator(names)), names.back());
}

/// Every setting of task and model: its path → the values that the trials of some series have.
std::map<std::string, std::set<std::string>> task_and_model(const Analysis& r, const Names& series) {
  std::map<std::string, std::set<std::string>> values;
  for (const TrialRecord& t : r.trials) {
    if (std::count(series.begin(), series.end(), t.series) == 0) continue;
    for (const auto& [path, value] : r.facts(t).settings)
      if (path.starts_with("task.") || path.starts_with("model.")) values[path].insert(value);
  }
  return values;
}

/// The one setting with other values in the series for which a claim holds than in those for which it fails.
struct Separation {
  std::string name, holds, fails;
};
std::optional<Separation> separation(const Analysis& r, const ClaimGroup& group) {
  if (group.count(VerdictStatus::pass) == 0 || group.count(VerdictStatus::fail) == 0) return std::nullopt;
  const auto holds = task_and_model(r, group.series.at(VerdictStatus::pass)),
             fails = task_and_model(r, group.series.at(VerdictStatus::fail));
  std::optional<Separation> only;
  for (const auto& [path, values] : holds) {
    const auto others = fails.find(path);
    const auto is_shared = [&](const std::string& value) { return others->second.contains(value); };
    if (others == fails.end() || std::any_of(values.begin(), values.end(), is_shared)) continue;
    if (only) return std::nullopt;
    only = Separation{last_part(path), fmt::format("{}", fmt::join(values, ", ")),
                      fmt::format("{}", fmt::join(others->second, ", "))};
  }
  return only;
}

/// "“both ends are worse” holds for D 256 and D 64, fails for learned positions".
std::string group_words(const Analysis& r, const ClaimGroup& group) {
  const std::string claim = fmt::format("“{}”", group.words);
  if (const auto by = separation(r, group))
    return fmt::format("Depends on {}: {} holds with {}, fails with {}", by->name, claim, by->holds, by->fails);
  Names parts;
  for (const auto& [status, series] : group.series) {
    parts.push_back(std::string(says(status)) + (series == Names{""} ? "" : " for " + with_and(series)));
  }
  return fmt::format("{} {}", claim, fmt::join(parts, separator(parts)));
}

/// The words of the study, or why they are not shown.
Answer own_answer(const StudyAnswer& own, const std::vector<Verdict>& verdicts) {
  Names differing;
  for (const auto& [ids, wanted] :
       {std::pair{&own.holds, VerdictStatus::pass}, std::pair{&own.fails, VerdictStatus::fail}})
    for (const Verdict& v : verdicts)
      if (std::count(ids->begin(), ids->end(), v.claim.id) > 0 && v.status != wanted)
        differing.push_back(fmt::format("“{}”{} {}, and its verdict is {}", in_words(v.claim),
                                        subject_in_brackets(v.claim), says(wanted), name(v.status)));
  if (differing.empty()) return {own.words, ""};
  return {"",
          fmt::format("The study’s own answer, “{}”, supposes that {}.", own.words, fmt::join(differing, "; that "))};
}

/// At which x a series chose among several values inside their grid, and at which it did not: " Learning rates …".
std::string tuning_words(const Analysis& r) {
  Names parts;
  for (const std::string& series : series_names(r)) {
    Names tuned, untuned;
    std::string key;
    for (const Point& p : r.curve(series).points) {
      if (p.choice.empty()) continue;
      key = last_part(p.choice.begin()->first);
      (p.single.empty() && p.edges.empty() ? tuned : untuned).push_back(exact(p.x));
    }
    if (tuned.empty() || untuned.empty()) continue;
    parts.push_back(fmt::format("{} was tuned at {} = {}, not at {}{}", key, last_part(r.report.x_key),
                                fmt::join(tuned, ", "), fmt::join(untuned, ", "),
                                series.empty() ? "" : " of " + series));
  }
  return parts.empty() ? "" : fmt::format(" But {}.", fmt::join(parts, "; "));
}

}  // namespace

Answer answer(const Analysis& r) {
  const std::vector<Verdict>& verdicts = r.verdicts();
  if (verdicts.empty()) return {finding(r), ""};
  if (std::none_of(verdicts.begin(), verdicts.end(), is_decided)) {
    const std::string none = nothing_learned(r);
    return {none.empty() ? finding(r) : none, ""};
  }
  Answer out = r.answer.words.empty() ? Answer{} : own_answer(r.answer, verdicts);
  const ClaimGroup group = largest_group(verdicts);
  if (out.words.empty()) out.words = group.decided() > 1 ? group_words(r, group) : finding(r);
  while (out.words.ends_with('.')) out.words.pop_back();
  if (verdicts.size() > 1) out.words += fmt::format("; {}{}", tally(verdicts), is_pilot(r) ? " in a pilot" : "");
  out.words += "." + tuning_words(r);
  return out;
}

}  // namespace headroom::experiments
