#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "experiments/output/number.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page_sections.h"
#include "experiments/studies/pages/second_choices.h"
#include "experiments/studies/pages/verdict_change.h"

namespace headroom::experiments {
namespace {

/// Numbers as a narrow column shows them: "p = 2e-7" stays in one line.
std::string in_one_line(std::string numbers) {
  for (size_t at = numbers.find(" = "); at != std::string::npos; at = numbers.find(" = ", at + 1))
    numbers.replace(at, 3, "\u00a0=\u00a0");
  return numbers;
}

/// The verdict, the claim with all that is said of it on demand, its numbers.
VerdictRow verdict_row(const StudyResults& r, const Verdict& v) {
  VerdictRow row{name(v.status), {{in_words(v.claim)}}, {paragraph(v.sentence)}, in_one_line(v.summary)};
  if (v.status == VerdictStatus::fail && !v.why.empty())
    row.more.push_back(paragraph({{.text = "Why:", .is_strong = true}, {" " + v.why}}, Role::why));
  for (const std::string& note : v.notes) row.more.push_back(item(note, Role::notes));
  if (const std::string change = what_would_change(r, v); !change.empty())
    row.more.push_back(
        paragraph({{.text = "Margin, and what would change it:", .is_strong = true}, {" " + change + "."}}));
  if (!v.claim.worded_after.empty())
    row.more.push_back(paragraph(fmt::format("Worded after {} had been seen.", v.claim.worded_after)));
  if (!v.claim.because.empty())
    row.more.push_back(paragraph(
        {{.text = fmt::format("Why {}× is the smallest effect:", exact(v.claim.keys.factor)), .is_strong = true},
         {" " + v.claim.because + "."}}));
  row.more.push_back(paragraph(claim_name(v.claim), Role::source));
  if (!v.claim.series.empty()) {
    row.claim.push_back({" "});
    row.claim.push_back({.text = v.claim.series, .role = Role::series});
  }
  return row;
}

Blocks verdict_table_of(const StudyResults& r, const std::vector<Verdict>& verdicts, ClaimSource of) {
  std::vector<VerdictRow> rows;
  for (const Verdict& v : verdicts)
    if (source(v.claim) == of) rows.push_back(verdict_row(r, v));
  if (rows.empty()) return {};
  Block head = heading(plural(of) + std::string(" "), 3);
  head.line.push_back({.text = tally(verdicts, of), .role = Role::muted});
  return {std::move(head), verdict_table(plural(of), std::move(rows))};
}

}  // namespace

Blocks verdict_section(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  Blocks parts;
  for (const ClaimSource source : claim_sources) append(parts, verdict_table_of(r, verdicts, source));
  if (parts.empty()) return {};
  if (const std::string seconds = second_choices(r, verdicts); !seconds.empty()) parts.push_back(paragraph(seconds));
  const std::string levels = interval_levels(verdicts);
  parts.push_back(paragraph(
      fmt::format(
          "Open a claim to read how it was tested. 3× is three times the value that it is compared with{}. p is "
          "adjusted for the number of claims (Holm).",
          levels.empty() ? "" : fmt::format("; in brackets, its confidence interval, at {}", levels)),
      Role::muted));
  return {section("Verdicts", std::move(parts), "verdicts")};
}

Blocks failed_section(const StudyResults& r) {
  std::vector<Fact> rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    if (t.status != TrialStatus::failed) continue;
    std::string where = t.series.empty() ? "" : t.series + " · ";
    where += fmt::format("{} = {}", last_part(r.report.x_key), exact(t.x));
    for (const auto& [key, value] : t.choice) where += fmt::format(", {} = {}", last_part(key), exact(value));
    rows.push_back({fmt::format("{}, seed {}", where, t.seed), {{t.message}}, {}});
  }
  if (rows.empty()) return {};
  const std::vector<const TrialRecord*> once = each_once(r.trials);
  const auto failed = std::count_if(once.begin(), once.end(),
                                    [](const TrialRecord* trial) { return trial->status == TrialStatus::failed; });
  return {
      section("What failed",
              {paragraph(fmt::format("{} of {} trials failed. They are in none of the means below, and a value of a "
                                     "swept key at which a seed failed is chosen only where one failed at every "
                                     "other value, too.",
                                     failed, once.size())),
               fold("Each of them", {facts(std::move(rows))}, failed <= 8)},
              "failed")};
}

}  // namespace headroom::experiments
