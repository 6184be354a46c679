#include <fmt/format.h>

#include <algorithm>

#include "experiments/claims/curve.h"
#include "experiments/claims/number.h"
#include "experiments/report/headline.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

std::string verdict_item(const Verdict& v) {
  const std::string status = name(v.status);
  std::string out = fmt::format(
      "<li class=\"{}\"><div class=\"verdict\"><span class=\"status\">{}</span> <span class=\"claim\">{}</span>",
      slug(status), escape(status), escape(in_words(v.claim)));
  if (!v.claim.series.empty()) out += fmt::format(" <span class=\"claim\">({})</span>", escape(v.claim.series));
  out += fmt::format("</div>\n<p>{}</p>\n", escape(v.sentence));
  if (v.status == VerdictStatus::fail && !v.why.empty())
    out += fmt::format("<p class=\"why\"><b>Why:</b> {}</p>\n", escape(v.why));
  out += fmt::format("<p class=\"muted mono\">{}{}</p>", escape(claim_name(v.claim)),
                     v.summary.empty() ? "" : " <span class=\"numbers\">" + escape(v.summary) + "</span>");
  if (!v.notes.empty()) {
    out += "\n<ul class=\"notes\">";
    for (const std::string& note : v.notes) out += element("li", escape(note));
    out += "</ul>";
  }
  return out + "</li>\n";
}

std::string verdict_list(const std::vector<Verdict>& verdicts, bool ours) {
  std::string items;
  for (const Verdict& v : verdicts)
    if (is_ours(v.claim) == ours) items += verdict_item(v);
  if (items.empty()) return "";
  const char* const heading = ours ? "Our own claims" : "The paper’s claims";
  return fmt::format("<h2>{0}</h2>\n<ul class=\"verdicts\" aria-label=\"{0}\">\n{1}</ul>\n", heading, items);
}

}  // namespace

std::string verdict_section(const std::vector<Verdict>& verdicts) {
  return fmt::format("<section>\n<p class=\"headline\">{}</p>\n{}{}</section>\n", escape(headline(verdicts)),
                     verdict_list(verdicts, false), verdict_list(verdicts, true));
}

std::string failed_section(const StudyResults& r) {
  std::string rows;
  size_t count = 0;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    if (t.status != TrialStatus::failed) continue;
    std::string where = t.series.empty() ? "" : t.series + " · ";
    where += fmt::format("{} = {}", last_part(r.report.x_key), exact(t.x));
    for (const auto& [key, value] : t.choice) where += fmt::format(", {} = {}", last_part(key), exact(value));
    rows += fmt::format("<tr><th scope=\"row\">{}, seed {}</th><td>{}</td></tr>\n", escape(where), t.seed,
                        escape(t.message));
    ++count;
  }
  if (rows.empty()) return "";
  return fmt::format(
      "<section>\n<h2>What failed</h2>\n<p>{} of {} trials failed. They are in none of the means below, and a value "
      "of a swept key at which a seed failed is chosen only where one failed at every other value, too.</p>\n"
      "<details{}>\n<summary>Each of them</summary>\n<table class=\"words\"><tbody>\n{}</tbody></table>\n</details>\n"
      "</section>\n",
      count, r.trials.size(), count > 8 ? "" : " open=\"open\"", rows);
}

}  // namespace headroom::experiments
