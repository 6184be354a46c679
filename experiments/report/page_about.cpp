#include <fmt/format.h>

#include <cstdint>

#include "experiments/claims/curve.h"
#include "experiments/claims/number.h"
#include "experiments/report/csv.h"
#include "experiments/report/headline.h"
#include "experiments/report/measured.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

/// RFC 4648.
std::string base64(const std::string& bytes) {
  static const char* const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) out += i <= count ? letters[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
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
  for (const auto& [key, value] : r.provenance) row(key, escape(value));
  if (training_seconds(r) > 0) {
    row("time", escape(duration(wall_seconds(r))));
    row("time of all trials together", escape(duration(training_seconds(r))));
  }
  for (const std::string& line : r.deviations) row("not as in the paper", escape(line));
  for (const std::string& line : r.rounds) row("rounds", escape(line));
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
