#include "experiments/studies/pages/upward_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/pages/centre.h"

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;

const char* words_of(Standing standing) {
  if (standing == Standing::as_good) return "within the margin";
  return standing == Standing::worse ? "worse" : "open";
}

}  // namespace

GuidelineTally guideline_tally(const std::vector<HeadChoice>& choices) {
  GuidelineTally tally;
  for (const HeadChoice* const one : distinct_learned(choices)) {
    const HeadChoice& c = *one;
    if (!c.found) continue;
    ++tally.curves;
    tally.best += c.found->heads == c.best().heads ? 1 : 0;
    tally.good += c.found->standing == Standing::as_good ? 1 : 0;
    if (c.found->standing != Standing::worse) continue;
    ++tally.worse;
    tally.worst = std::max(tally.worst, c.found->ratio);
  }
  return tally;
}

std::string guideline_sentence(const std::vector<HeadChoice>& choices) {
  const GuidelineTally tally = guideline_tally(choices);
  if (tally.curves == 0) return "";
  return fmt::format(
      "The paper advises a local search. Starting from the fewest heads and adding more until validation no longer "
      "improves ends at the best on validation on {} of {} curves. Where it ends is shown to be within the margin "
      "(10 % of an error, 1 % of a cross-entropy or an accuracy) of every other number on {} of them, shown to be "
      "worse on {}{}, and undecided on {}. It costs a search of learning rates for each number tried.",
      tally.best, tally.curves, tally.good, tally.worse,
      tally.worse > 0 ? fmt::format(" (by at most {} times)", rounded(tally.worst)) : "", tally.open());
}

Blocks guideline_page(const std::vector<HeadChoice>& choices) {
  std::vector<std::vector<Phrase>> rows;
  for (const HeadChoice& c : choices) {
    if (!c.found) continue;
    const Standing standing = c.found->standing;
    rows.push_back({{{.text = c.study, .is_code = true}},
                    {{c.series}},
                    {{exact(c.found->heads)}},
                    {{exact(c.best().heads)}},
                    {{in_words(Centre{c.found->ratio, c.found->low, c.found->high})}},
                    {{.text = words_of(standing), .is_strong = standing == Standing::worse}},
                    {{fmt::format("{:.0f} %", 100 * (c.margin - 1))}}});
  }
  return {title("The guideline: start with few heads and search upward"), paragraph(guideline_sentence(choices)),
          paragraph("The table has every curve; the sentence counts those that learned their task, and a setting that "
                    "several studies share once. A number of heads is within the margin where every comparison with "
                    "another number shows it. The interval in the table is that of one comparison, with the best "
                    "other number, and may reach further than the test does."),
          table("Every curve",
                {"study", "series", "ends at", "best on validation", "times the error of the best other [interval]",
                 "against every other number", "margin"},
                std::move(rows))};
}

}  // namespace headroom::experiments
