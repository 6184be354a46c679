#include "experiments/report/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "experiments/claims/claims.h"
#include "experiments/claims/guideline.h"
#include "experiments/claims/number.h"
#include "experiments/report/headline.h"
#include "experiments/report/measured.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

/// One study and what is said of it.
struct Finding {
  const StudyResults& results;
  std::vector<Verdict> verdicts;
};

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

/// A row of dashes under a table's head.
std::string rule(size_t columns) {
  std::string out = "|";
  for (size_t i = 0; i < columns; ++i) out += "---|";
  return out + "\n";
}

std::string code(const std::string& text) {
  std::string out = clean(text);
  std::replace(out.begin(), out.end(), '`', '\'');
  std::replace(out.begin(), out.end(), '\n', ' ');
  for (size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 2)) out.insert(at, 1, '\\');
  return "`" + out + "`";
}

std::string machine(const StudyResults& r) {
  std::vector<std::string> parts;
  for (const char* key : {"CPU", "instruction set", "threads", "headroom", "compiler"})
    if (const auto found = r.provenance.find(key); found != r.provenance.end())
      parts.push_back(fmt::format("{} {}", key, markdown(found->second)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string overview(const std::vector<Finding>& all) {
  std::string out =
      row({"study", "profile", "the paper’s claims", "our own", "trials", "time", "time of all trials"}) + rule(7);
  for (const Finding& f : all)
    out += row({markdown(f.results.title), code(f.results.profile), tally(f.verdicts, false), tally(f.verdicts, true),
                fmt::format("{}", f.results.trials.size()), duration(wall_seconds(f.results)),
                duration(training_seconds(f.results))});
  return out + "\n";
}

/// One series: x in the head, then every metric with its error.
std::string curve_rows(const StudyResults& r, const std::string& series) {
  const Curve main = curve(r, series);
  if (main.points.empty()) return "No trial has run.\n\n";
  std::vector<std::string> head{markdown(r.report.x_label)};
  for (const Point& p : main.points) head.push_back(exact(p.x));
  std::string out = row(head) + rule(head.size());
  for (const Measure& measure : shown_measures(r.report)) {
    std::vector<std::string> means{markdown(measure.label)}, errors{"±"};
    for (const Point& p : metric_curve(r, series, measure.metric).points) {
      means.push_back(rounded(p.mean));
      errors.push_back(rounded(p.standard_error));
    }
    out += row(means) + row(errors);
  }
  return out + "\n";
}

std::string claim_rows(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return "";
  std::string out = row({"verdict", "whose", "claim", "numbers"}) + rule(4);
  for (bool ours : {false, true})
    for (const Verdict& v : verdicts)
      if (is_ours(v.claim) == ours)
        out += row({fmt::format("**{}**", name(v.status)), ours ? "ours" : "paper",
                    markdown(in_words(v.claim)) + (v.claim.series.empty() ? "" : " · " + markdown(v.claim.series)),
                    markdown(v.summary)});
  return out + "\n";
}

/// Every claim that does not hold, and every trial that failed, in plain words.
std::string failures(const Finding& f) {
  std::string out;
  for (const Verdict& v : f.verdicts) {
    if (v.status == VerdictStatus::pass) continue;
    const std::string series = v.claim.series.empty() ? "" : " (" + markdown(v.claim.series) + ")";
    out += fmt::format("- **{}**: {}{}. {}", name(v.status), markdown(in_words(v.claim)), series, markdown(v.sentence));
    if (v.status == VerdictStatus::fail && !v.why.empty()) out += " *Why:* " + markdown(v.why);
    for (const std::string& note : v.notes) out += fmt::format(" ({})", markdown(note));
    out += "\n";
  }
  std::map<std::string, int> broken;
  for (const TrialRecord& t : f.results.trials)
    if (t.status == TrialStatus::failed)
      ++broken[fmt::format("{}{} = {}", t.series.empty() ? "" : t.series + ", ", last_part(f.results.report.x_key),
                           exact(t.x))];
  for (const auto& [where, count] : broken)
    out += fmt::format("- {} {} failed at {}, and no mean includes them.\n", count, count == 1 ? "trial" : "trials",
                       markdown(where));
  return out.empty() ? "" : "What does not hold, and why:\n\n" + out + "\n";
}

std::string study_part(const Finding& f) {
  const StudyResults& r = f.results;
  std::string out = fmt::format("## {}\n\n{} · {}{} · {}\n\n", markdown(r.title), code(r.id), code(r.profile),
                                r.paper.empty() ? "" : " · " + markdown(r.paper), progress_of(r));
  out += headline(f.verdicts) + "\n\n" + claim_rows(f.verdicts) + failures(f);
  for (const std::string& series : series_names(r))
    out += (series.empty() ? "" : fmt::format("**{}**\n\n", markdown(series))) + curve_rows(r, series);
  return out;
}

/// Whether models were trained for a series: not a formula, and not the construction of a proof.
bool is_trained(const StudyResults& r, const std::string& series) {
  return std::any_of(r.trials.begin(), r.trials.end(),
                     [&](const TrialRecord& t) { return t.series == series && t.steps > 0; });
}

/// Did a search upward from few heads find the best, on every curve of trained models over heads?
std::string guideline(const std::vector<Finding>& all) {
  std::string rows;
  int searched = 0, reached = 0;
  for (const Finding& f : all) {
    if (last_part(f.results.report.x_key) != "heads") continue;
    for (const std::string& series : series_names(f.results)) {
      if (!is_trained(f.results, series)) continue;
      const auto search = search_upward(curve(f.results, series));
      if (!search) continue;
      ++searched;
      reached += search->reached ? 1 : 0;
      rows += row({code(f.results.id), markdown(series), exact(search->found_x), exact(search->best_x),
                   rounded(search->times_worse), search->reached ? "yes" : "**no**"});
    }
  }
  if (searched == 0) return "";
  return fmt::format(
             "## The guideline: start with few heads and search locally\n\nStarting from the fewest heads and adding "
             "more as long as the mean improves ends within 10 % of the best on {} of {} curves of trained models.\n\n",
             reached, searched) +
         row({"study", "series", "found", "best", "times worse", "within 10 %"}) + rule(6) + rows + "\n";
}

}  // namespace

std::string markdown(const std::string& text) {
  std::string out;
  for (char c : clean(text)) {
    if (c == '\n' || c == '\t') c = ' ';
    if (std::string_view("\\`*_<>[]|#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string results_markdown(const std::vector<StudyResults>& studies) {
  std::vector<Finding> all;
  for (const StudyResults& r : studies) all.push_back({r, judge(r)});
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(all[a].results.id, all[a].results.profile) < std::tie(all[b].results.id, all[b].results.profile);
  });
  std::vector<Finding> sorted;
  for (size_t i : order) sorted.push_back(all[i]);
  std::string out =
      "# Results\n\nWritten by `headroom report STUDY… --results FILE` from the run stores: change a study, not this "
      "page. Numbers are means over seeds on the test data, ± their standard error.\n\n";
  out += overview(sorted);
  std::set<std::string> machines;
  for (const Finding& f : sorted) machines.insert(machine(f.results));
  for (const std::string& words : machines)
    if (!words.empty()) out += fmt::format("Machine: {}.\n\n", words);
  out += guideline(sorted);
  for (const Finding& f : sorted) out += study_part(f);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace headroom::experiments
