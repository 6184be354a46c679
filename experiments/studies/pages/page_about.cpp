#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/measured.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

/// "2026-11-22 18:03 UTC".
std::string date(double seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// From the first trial's begin to the last one's end; "" of a store that did not keep it.
std::string trained(const StudyResults& r) {
  double first = INFINITY, last = 0;
  for (const TrialRecord& t : r.trials) {
    if (!(t.ended > 0)) continue;
    first = std::min(first, t.ended - t.seconds);
    last = std::max(last, t.ended);
  }
  return last > 0 ? fmt::format("{} to {}", date(first), date(last)) : "";
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

std::string all_trials(const StudyResults& r) {
  const auto measures = shown_measures(r.report);
  const bool several = !series_names(r)[0].empty();
  std::vector<std::string> heads;
  if (several) heads.emplace_back("series");
  heads.insert(heads.end(), {last_part(r.report.x_key), "chosen among", "seed"});
  for (const Measure& measure : measures) heads.push_back(measure.label);
  heads.insert(heads.end(), {"parameters", "FLOPs", "seconds"});
  std::string rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    rows += "<tr>";
    if (several) rows += element("td", escape(t.series));
    std::vector<std::string> choice;
    for (const auto& [key, value] : t.choice) choice.push_back(fmt::format("{} {}", last_part(key), exact(value)));
    rows += element("td", exact(t.x)) + element("td", escape(fmt::format("{}", fmt::join(choice, ", ")))) +
            element("td", fmt::format("{}", t.seed));
    for (const Measure& measure : measures) {
      const auto found = t.test.find(measure.metric);
      rows += t.status == TrialStatus::failed ? "<td class=\"bad\">failed</td>"
                                              : element("td", found == t.test.end() ? "—" : rounded(found->second));
    }
    rows += element("td", fmt::format("{}", t.parameters)) + element("td", rounded(t.flops)) +
            element("td", rounded(t.seconds)) + "</tr>\n";
  }
  return fmt::format("<details>\n<summary>All {} trials</summary>\n{}</details>\n", r.trials.size(),
                     sortable_table("All trials", heads, rows));
}

}  // namespace

std::string about_section(const StudyResults& r) {
  std::string out = "<section id=\"about\">\n<h2>Where this comes from</h2>\n<table class=\"words\"><tbody>\n";
  const auto row = [&](const std::string& key, const std::string& html) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(key), html);
  };
  row("command", "<code>" + escape(command_of(r)) + "</code>");
  for (const std::string& setting : r.overrides) row("changed by --set", "<code>" + escape(setting) + "</code>");
  if (const std::string when = trained(r); !when.empty()) row("trained", escape(when));
  if (const std::string by = programs(r); !by.empty()) row("trained by headroom", escape(by));
  for (const auto& [key, value] : r.provenance)
    if (key != "threads")  // those of the report, not of the trials, and no result depends on them
      row(key == "headroom" ? "reported by headroom" : key, escape(value));
  if (training_seconds(r) > 0) {
    row("time", escape(duration(wall_seconds(r))));
    row("time of all trials together", escape(duration(training_seconds(r))));
  }
  for (const std::string& line : r.deviations) row("not as in the paper", escape(line));
  if (!r.changes.empty()) {
    std::string lines;
    for (const std::string& line : r.changes) lines += element("p", escape(line));
    row("not the study’s own settings (in brackets)",
        fmt::format("<details>\n<summary>{} that this profile changes</summary>\n{}</details>", r.changes.size(),
                    lines));
  }
  if (!r.rounds.empty()) {
    std::string lines;
    for (const std::string& line : r.rounds) lines += element("p", escape(line));
    row("rounds", fmt::format("<details>\n<summary>{} {} of what later rounds added</summary>\n{}</details>",
                              r.rounds.size(), r.rounds.size() == 1 ? "line" : "lines", lines));
  }
  for (const auto& [file, hash] : r.data)
    row("read", fmt::format("{}, SHA-256 <code>{}</code>", escape(file), escape(hash)));
  row("results",
      fmt::format("<a href=\"data:text/csv;charset=utf-8;base64,{}\" download=\"results.csv\">results.csv</a>, a "
                  "row per trial, within this page · beside it <a href=\"metrics.csv\">metrics.csv</a>, the same "
                  "without times, <a href=\"verdicts.json\">verdicts.json</a> and <a "
                  "href=\"config.toml\">config.toml</a>",
                  base64(csv(r, Clock::kept))));
  out += "</tbody></table>\n" + all_trials(r);
  return out + fmt::format(
                   "<details>\n<summary>Resolved configuration</summary>\n<pre tabindex=\"0\"><code>{}</code></pre>\n"
                   "</details>\n</section>\n",
                   escape(r.resolved_config));
}

}  // namespace headroom::experiments
