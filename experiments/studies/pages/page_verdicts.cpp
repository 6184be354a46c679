#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page_sections.h"
#include "experiments/studies/pages/second_choices.h"
#include "experiments/studies/pages/verdict_change.h"

namespace headroom::experiments {
namespace {

/// Numbers as a narrow column shows them: "p = 2e-7" stays in one line.
std::string numbers_html(const std::string& summary) {
  std::string out = escape(summary);
  for (size_t at = out.find(" = "); at != std::string::npos; at = out.find(" = ", at + 1))
    out.replace(at, 3, "\u00a0=\u00a0");
  return out;
}

/// A row: the verdict, the claim with all that is said of it on demand, its numbers.
std::string verdict_row(const StudyResults& r, const Verdict& v) {
  const std::string status = name(v.status);
  std::string more = element("p", escape(v.sentence)) + "\n";
  if (v.status == VerdictStatus::fail && !v.why.empty())
    more += fmt::format("<p class=\"why\"><b>Why:</b> {}</p>\n", escape(v.why));
  if (!v.notes.empty()) {
    more += "<ul class=\"notes\">";
    for (const std::string& note : v.notes) more += element("li", escape(note));
    more += "</ul>\n";
  }
  if (const std::string change = what_would_change(r, v); !change.empty())
    more += fmt::format("<p><b>Margin, and what would change it:</b> {}.</p>\n", escape(change));
  if (!v.claim.worded_after.empty())
    more += fmt::format("<p>Worded after {} had been seen.</p>\n", escape(v.claim.worded_after));
  if (!v.claim.because.empty())
    more += fmt::format("<p><b>Why {}× is the smallest effect:</b> {}.</p>\n", exact(*stated_effect(v.claim)),
                        escape(v.claim.because));
  more += fmt::format("<p class=\"muted mono\">{}</p>\n", escape(claim_name(v.claim)));
  const std::string series =
      v.claim.series.empty() ? "" : fmt::format(" <span class=\"of\">{}</span>", escape(v.claim.series));
  return fmt::format(
      "<tr class=\"{}\"><td><span class=\"status\">{}</span></td><td><details>\n<summary>{}{}</summary>\n{}</details>"
      "</td><td class=\"measured\">{}</td></tr>\n",
      slug(status), escape(status), escape(in_words(v.claim)), series, more, numbers_html(v.summary));
}

std::string verdict_table_of(const StudyResults& r, const std::vector<Verdict>& verdicts, ClaimSource of) {
  std::string rows;
  for (const Verdict& v : verdicts)
    if (source(v.claim) == of) rows += verdict_row(r, v);
  if (rows.empty()) return "";
  return fmt::format(
      "<h3>{0} <span class=\"muted\">{1}</span></h3>\n<table class=\"verdicts\" aria-label=\"{0}\">\n<thead><tr><th "
      "scope=\"col\">verdict</th><th scope=\"col\">claim</th><th scope=\"col\">measured</th></tr></thead>\n<tbody>\n"
      "{2}</tbody>\n</table>\n",
      plural(of), escape(tally(verdicts, of)), rows);
}

}  // namespace

std::string verdict_section(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  std::string tables;
  for (const ClaimSource source : claim_sources) tables += verdict_table_of(r, verdicts, source);
  if (tables.empty()) return "";
  if (const std::string seconds = second_choices(r, verdicts); !seconds.empty())
    tables += element("p", escape(seconds)) + "\n";
  const std::string levels = interval_levels(verdicts);
  return "<section id=\"verdicts\">\n<h2>Verdicts</h2>\n" + tables +
         fmt::format(
             "<p class=\"muted\">Open a claim to read how it was tested. 3× is three times the value that it is "
             "compared with{}. p is adjusted for the number of claims (Holm).</p>\n</section>\n",
             levels.empty() ? "" : fmt::format("; in brackets, its confidence interval, at {}", levels));
}

std::string failed_section(const StudyResults& r) {
  std::string rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    if (t.status != TrialStatus::failed) continue;
    std::string where = t.series.empty() ? "" : t.series + " · ";
    where += fmt::format("{} = {}", last_part(r.report.x_key), exact(t.x));
    for (const auto& [key, value] : t.choice) where += fmt::format(", {} = {}", last_part(key), exact(value));
    rows += fmt::format("<tr><th scope=\"row\">{}, seed {}</th><td>{}</td></tr>\n", escape(where), t.seed,
                        escape(t.message));
  }
  if (rows.empty()) return "";
  const std::vector<const TrialRecord*> once = each_once(r.trials);
  const auto failed = std::count_if(once.begin(), once.end(),
                                    [](const TrialRecord* trial) { return trial->status == TrialStatus::failed; });
  return fmt::format(
      "<section id=\"failed\">\n<h2>What failed</h2>\n<p>{} of {} trials failed. They are in none of the means below, "
      "and a value "
      "of a swept key at which a seed failed is chosen only where one failed at every other value, too.</p>\n"
      "<details{}>\n<summary>Each of them</summary>\n<table class=\"words\"><tbody>\n{}</tbody></table>\n</details>\n"
      "</section>\n",
      failed, once.size(), failed > 8 ? "" : " open=\"open\"", rows);
}

}  // namespace headroom::experiments
