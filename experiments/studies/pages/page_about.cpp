#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"

namespace headroom::experiments {
namespace {

/// "2026-11-22 18:03 UTC to 2026-11-22 19:40 UTC", from the first trial's begin to the last one's end; "" of a store
/// that did not keep it.
std::string trained(const StudyResults& r) {
  double first = INFINITY, last = 0;
  for (const TrialRecord& t : r.trials) {
    if (!(t.ended > 0)) continue;
    first = std::min(first, t.ended - t.seconds);
    last = std::max(last, t.ended);
  }
  const auto date = [](double seconds) { return fmt::gmtime(static_cast<std::time_t>(seconds)); };
  return last > 0 ? fmt::format("{:%Y-%m-%d %H:%M} UTC to {:%Y-%m-%d %H:%M} UTC", date(first), date(last)) : "";
}

/// The command that gives these results again.
std::string command_of(const StudyResults& r) {
  std::string out = fmt::format("headroom run {} --profile {}", r.id, r.profile.substr(0, r.profile.find('+')));
  for (const std::string& setting : r.overrides) out += " --set " + shell_word(setting);
  return out;
}

/// Versions of the program that trained the trials.
std::string programs(const StudyResults& r) {
  std::set<std::string> versions;
  for (const TrialRecord& t : r.trials)
    if (!t.code.empty()) versions.insert(t.code);
  return fmt::format("{}", fmt::join(versions, ", "));
}

Block all_trials(const StudyResults& r) {
  const auto measures = shown_measures(r.report);
  const bool several = !series_names(r)[0].empty();
  std::vector<std::string> heads;
  if (several) heads.emplace_back("series");
  heads.insert(heads.end(), {last_part(r.report.x_key), "chosen among", "seed"});
  for (const Measure& measure : measures) heads.push_back(measure.label);
  heads.insert(heads.end(), {"parameters", "FLOPs", "seconds"});
  std::vector<std::vector<Phrase>> rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    std::vector<std::string> choice;
    for (const auto& [key, value] : t.choice) choice.push_back(fmt::format("{} {}", last_part(key), exact(value)));
    std::vector<Phrase> cells =
        text_cells({t.series, exact(t.x), fmt::format("{}", fmt::join(choice, ", ")), fmt::format("{}", t.seed)});
    if (!several) cells.erase(cells.begin());
    for (const Measure& measure : measures) {
      const auto found = t.test.find(measure.metric);
      if (t.status == TrialStatus::failed) cells.push_back({{.text = "failed", .role = Role::bad}});
      else cells.push_back({{found == t.test.end() ? "—" : rounded(found->second)}});
    }
    for (const std::string& text : {fmt::format("{}", t.parameters), rounded(t.flops), rounded(t.seconds)})
      cells.push_back({{text}});
    rows.push_back(std::move(cells));
  }
  return fold(fmt::format("All {} trials", r.trials.size()), {table("All trials", heads, std::move(rows), {})});
}

/// A fact of many lines, which show on demand.
Fact folded(const std::string& term, const std::string& summary, const std::vector<std::string>& lines) {
  Blocks parts;
  for (const std::string& line : lines) parts.push_back(paragraph(line));
  return {term, {}, {fold(summary, std::move(parts))}};
}

}  // namespace

Block about_section(const StudyResults& r) {
  std::vector<Fact> rows;
  const auto row = [&](const std::string& key, const std::string& text, bool is_code = false) {
    rows.push_back({key, {{.text = text, .is_code = is_code}}, {}});
  };
  row("command", command_of(r), true);
  for (const std::string& setting : r.overrides) row("changed by --set", setting, true);
  if (const std::string when = trained(r); !when.empty()) row("trained", when);
  if (const std::string by = programs(r); !by.empty()) row("trained by headroom", by);
  for (const auto& [key, value] : r.provenance)
    if (key != "threads")  // those of the report, not of the trials, and no result depends on them
      row(key == "headroom" ? "reported by headroom" : key, value);
  if (training_seconds(r) > 0) {
    row("time", seconds_text(wall_seconds(r)));
    row("time of all trials together", seconds_text(training_seconds(r)));
  }
  for (const std::string& line : r.deviations) row("not as in the paper", line);
  if (!r.changes.empty())
    rows.push_back(folded("not the study’s own settings (in brackets)",
                          fmt::format("{} that this profile changes", r.changes.size()), r.changes));
  if (!r.rounds.empty())
    rows.push_back(folded("rounds", counted(std::ssize(r.rounds), "line") + " of what later rounds added", r.rounds));
  for (const auto& [file, hash] : r.data)
    rows.push_back({"read", {{file + ", SHA-256 "}, {.text = hash, .is_code = true}}, {}});
  rows.push_back({"results",
                  {{.text = "results.csv", .link = "results.csv", .csv = csv(r, Clock::kept)},
                   {", a row per trial, within this page · beside it "},
                   {.text = "metrics.csv", .link = "metrics.csv"},
                   {", the same without times, "},
                   {.text = "verdicts.json", .link = "verdicts.json"},
                   {" and "},
                   {.text = "config.toml", .link = "config.toml"}},
                  {}});
  return section("Where this comes from",
                 {facts(std::move(rows)), all_trials(r), fold("Resolved configuration", {code(r.resolved_config)})},
                 "about");
}

}  // namespace headroom::experiments
