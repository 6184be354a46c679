#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/pages/guide_parts.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/verdict_change.h"

namespace headroom::experiments {
namespace {

template <class Value>
using InOrder = nlohmann::ordered_map<std::string, Value>;  ///< names in the order in which they come

/// The judged verdicts of a claim, one for each series that it was tried on, by its words.
using ClaimGroups = InOrder<std::vector<Verdict>>;

/// The claims of a study, or those of one source.
ClaimGroups claim_groups(const Finding& f, std::optional<ClaimSource> of = {}) {
  ClaimGroups groups;
  for (const Verdict& v : f.verdicts)
    if (v.status != VerdictStatus::not_run && (!of || source(v.claim) == *of)) groups[in_words(v.claim)].push_back(v);
  return groups;
}

/// The verdict that supports a claim least: the one to show of several, which cannot flatter them.
const Verdict& weakest(const std::vector<Verdict>& verdicts) {
  const auto rank = [](const Verdict& v) {
    const int status = v.status == VerdictStatus::fail ? 0 : v.status == VerdictStatus::undecided ? 1 : 2;
    return std::pair(status, std::isnan(v.margin) ? -INFINITY : v.margin);
  };
  return *std::min_element(verdicts.begin(), verdicts.end(),
                           [&](const Verdict& a, const Verdict& b) { return rank(a) < rank(b); });
}

/// "ALiBi alone: the plan against ALiBi alone: equal, 8 wide"; what is measured where there is one series.
std::string subject(const Verdict& v) {
  const std::string in_brackets = subject_in_brackets(v.claim);
  return in_brackets.empty() ? claim_name(v.claim) : in_brackets.substr(2, in_brackets.size() - 3);
}

/// "fail: ALiBi alone; undecided: D 256, learned positions", for every status that some verdicts have.
std::string by_status(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> parts;
  for (const VerdictStatus status : {VerdictStatus::pass, VerdictStatus::fail, VerdictStatus::undecided}) {
    std::vector<std::string> subjects;
    for (const Verdict& v : verdicts)
      if (v.status == status) subjects.push_back(subject(v));
    if (!subjects.empty()) parts.push_back(fmt::format("{}: {}", name(status), fmt::join(subjects, " · ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "quick, 3 seeds".
std::string strength(const StudyResults& r, const std::string& series) {
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials)
    if (series.empty() || t.series == series) seeds.insert(t.seed);
  return fmt::format(", {}, {}", r.profile, counted(std::ssize(seeds), "seed"));
}

/// What weakens a claim most, in a cell.
std::string caveat(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  std::vector<std::string> parts;
  if (verdicts.size() > 1) parts.push_back(by_status(verdicts));
  if (const std::string seeds = deciding_seeds(verdicts); !seeds.empty()) parts.push_back(seeds);
  const auto edges =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.has_choice_at_edge; });
  if (edges > 0)
    parts.push_back(edges == std::ssize(verdicts)
                        ? "a chosen rate stands at an end of those tried"
                        : fmt::format("{} with a chosen rate at an end of those tried", edges));
  if (!r.deviations.empty())
    parts.push_back(fmt::format("deviations from the paper’s set-up: {}", r.deviations.size()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// A claim of the paper: where it is from, what it says, what was measured, the verdict, what that rests on, a caveat.
std::vector<Phrase> claim_cells(const std::vector<Finding>& all, const Finding& f, const std::string& words,
                                const std::vector<Verdict>& verdicts) {
  const StudyResults& r = f.results;
  const Verdict& shown = weakest(verdicts);
  const std::string& series = shown.claim.series;
  Phrase verdict{
      {.text = verdicts.size() == 1 ? name(shown.status) : tally(verdicts, ClaimSource::paper), .is_strong = true}};
  if (is_pilot(r)) verdict.push_back({" in a pilot"});
  return {{{r.paper}},
          {{words}},
          {{(series.empty() ? "" : series + ": ") + shown.comparison()}},
          std::move(verdict),
          {{.text = r.id, .link = fmt::format("results/{}.md", page_name(all, f))}, {strength(r, series)}},
          {{caveat(r, verdicts)}}};
}

/// Studies of which no claim could be judged, in one line; "" where there are none.
std::string missing(const std::vector<Finding>& all) {
  std::vector<std::string> none, some;
  for (const Finding& f : all) {
    if (f.verdicts.empty() || !claim_groups(f).empty()) continue;
    const std::string words = fmt::format("{} ({})", f.results.id, f.results.profile);
    if (f.results.trials.empty()) none.push_back(words);
    else some.push_back(fmt::format("{} ({} of {} trials)", words, f.results.trials.size(), f.results.planned));
  }
  std::vector<std::string> parts;
  if (!some.empty()) parts.push_back(fmt::format("Not finished: {}.", fmt::join(some, ", ")));
  if (!none.empty()) parts.push_back(fmt::format("Not run: {}.", fmt::join(none, ", ")));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// One item for each claim, of several series with the numbers of the one that supports it least.
Blocks answers(const Finding& f) {
  Blocks out;
  for (const auto& [words, verdicts] : claim_groups(f)) {
    const std::string shown = claim_finding(f.results, weakest(verdicts));
    out.push_back(item(verdicts.size() == 1 ? shown : fmt::format("{} In all: {}.", shown, by_status(verdicts))));
  }
  if (const auto law = fitted_law(f.results); law && !law->rows.empty()) out.push_back(item(law_sentence(*law)));
  if (out.empty()) return out;
  const std::string& asked = f.results.question.empty() ? f.results.title : f.results.question;
  out.insert(out.begin(), paragraph(Phrase{{asked}, {fmt::format(" ({}, {})", f.results.id, f.results.profile)}}));
  return out;
}

}  // namespace

Blocks guide_claims(const std::vector<Finding>& all) {
  std::vector<std::vector<Phrase>> rows;
  std::vector<Verdict> judged;
  for (const Finding& f : all)
    for (const auto& [words, verdicts] : claim_groups(f, ClaimSource::paper)) {
      judged.insert(judged.end(), verdicts.begin(), verdicts.end());
      rows.push_back(claim_cells(all, f, words, verdicts));
    }
  Blocks out;
  if (const std::string counts = tally(judged, ClaimSource::paper); !counts.empty())
    out.push_back(paragraph(fmt::format("The paper’s claims, series by series: {}.", counts)));
  out.push_back(table("The paper’s claims", {"where", "the paper says", "measured", "verdict", "rests on", "caveat"},
                      std::move(rows)));
  if (const std::string words = missing(all); !words.empty()) out.push_back(paragraph(words));
  return out;
}

Blocks guide_sections(const std::vector<Finding>& all) {
  InOrder<Blocks> sections;
  for (const Finding& f : all)
    if (!f.results.guide.empty()) append(sections[f.results.guide], answers(f));
  Blocks out;
  for (auto& [name, blocks] : sections) {
    if (blocks.empty()) continue;
    out.push_back(heading(name));
    append(out, std::move(blocks));
  }
  return out;
}

}  // namespace headroom::experiments
