#include "experiments/studies/pages/guide_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/pages/claim_group.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/verdict_change.h"

namespace headroom::experiments {
namespace {

bool is_judged(const Verdict& v) { return v.status != VerdictStatus::not_run; }

/// "quick, 3 seeds".
std::string strength(const StudyResults& r, const std::string& series) {
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials)
    if (series.empty() || t.series == series) seeds.insert(t.seed);
  return fmt::format(", {}, {} {}", r.profile, seeds.size(), seeds.size() == 1 ? "seed" : "seeds");
}

std::string series_prefix(const Verdict& v) { return v.claim.series.empty() ? "" : v.claim.series + ": "; }

/// "about 5 to 18 seeds would decide".
std::string seeds_text(const std::vector<Verdict>& verdicts) {
  int fewest = 0, most = 0;
  bool is_hopeless = false, is_open = false;
  for (const Verdict& v : verdicts) {
    if (v.status != VerdictStatus::undecided || !is_about_seeds(v)) continue;
    is_open = true;
    if (!v.seeds_needed) {
      is_hopeless = true;
      continue;
    }
    fewest = fewest == 0 ? *v.seeds_needed : std::min(fewest, *v.seeds_needed);
    most = std::max(most, *v.seeds_needed);
  }
  if (!is_open) return "";
  if (most == 0) return "no number of seeds up to 1,000 would decide";
  return fmt::format("about {} seeds would decide{}",
                     fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most),
                     is_hopeless ? ", and for one series no number up to 1,000" : "");
}

/// What weakens it most, in a cell.
std::string caveat(const ClaimGroup& g) {
  std::vector<std::string> parts;
  if (g.verdicts.size() > 1) parts.push_back(by_status(g.verdicts));
  if (const std::string seeds = seeds_text(g.verdicts); !seeds.empty()) parts.push_back(seeds);
  const auto edges =
      std::count_if(g.verdicts.begin(), g.verdicts.end(), [](const Verdict& v) { return v.has_choice_at_edge; });
  if (edges > 0)
    parts.push_back(edges == std::ssize(g.verdicts)
                        ? "a chosen rate stands at an end of those tried"
                        : fmt::format("{} with a chosen rate at an end of those tried", edges));
  if (!g.finding->results.deviations.empty())
    parts.push_back(fmt::format("deviations from the paper’s set-up: {}", g.finding->results.deviations.size()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Phrase verdict_cell(const ClaimGroup& g) {
  const std::string words = g.verdicts.size() == 1 ? name(g.verdicts[0].status) : tally(g.verdicts, ClaimSource::paper);
  Phrase cell{{.text = words, .is_strong = true}};
  if (is_pilot(g.finding->results)) cell.push_back({" in a pilot"});
  return cell;
}

std::vector<Phrase> row_of(const ClaimGroup& g, const std::vector<Finding>& all) {
  const StudyResults& r = g.finding->results;
  const Verdict& shown = g.weakest();
  return {{{r.paper}},
          {{g.words}},
          {{series_prefix(shown) + shown.comparison()}},
          verdict_cell(g),
          {{.text = r.id, .link = fmt::format("results/{}.md", page_name(all, *g.finding))},
           {strength(r, shown.claim.series)}},
          {{caveat(g)}}};
}

/// Studies of which no claim could be judged, in one line; "" where there are none.
std::string missing(const std::vector<Finding>& all) {
  std::vector<std::string> none, some;
  for (const Finding& f : all) {
    if (f.verdicts.empty() || std::any_of(f.verdicts.begin(), f.verdicts.end(), is_judged)) continue;
    const std::string words = fmt::format("{} ({})", f.results.id, f.results.profile);
    if (f.results.trials.empty()) none.push_back(words);
    else some.push_back(fmt::format("{} ({} of {} trials)", words, f.results.trials.size(), f.results.planned));
  }
  std::vector<std::string> parts;
  if (!some.empty()) parts.push_back(fmt::format("Not finished: {}.", fmt::join(some, ", ")));
  if (!none.empty()) parts.push_back(fmt::format("Not run: {}.", fmt::join(none, ", ")));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace

std::vector<Block> guide_claims(const std::vector<Finding>& all) {
  std::vector<std::vector<Phrase>> rows;
  std::vector<Verdict> paper;
  for (const Finding& f : all) {
    for (const Verdict& v : f.verdicts)
      if (is_judged(v)) paper.push_back(v);
    for (const ClaimGroup& g : claim_groups(f, ClaimSource::paper)) rows.push_back(row_of(g, all));
  }
  std::vector<Block> out;
  if (const std::string counts = tally(paper, ClaimSource::paper); !counts.empty())
    out.push_back(paragraph(fmt::format("The paper’s claims, series by series: {}.", counts)));
  out.push_back(table("The paper’s claims", {"where", "the paper says", "measured", "verdict", "rests on", "caveat"},
                      std::move(rows)));
  if (const std::string words = missing(all); !words.empty()) out.push_back(paragraph(words));
  return out;
}

}  // namespace headroom::experiments
