#include "experiments/studies/pages/guide_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/studies/pages/claim_group.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/plan_answers.h"

namespace headroom::experiments {
namespace {

/// One item: the claim, and of several series which hold, with the numbers of the one that supports it least.
std::string group_sentence(const ClaimGroup& g) {
  const std::string shown = claim_finding(g.finding->results, g.weakest());
  return g.verdicts.size() == 1 ? shown : fmt::format("{} In all: {}.", shown, by_status(g.verdicts));
}

std::vector<Block> answers(const Finding& f) {
  std::vector<Block> out;
  for (const ClaimGroup& g : claim_groups(f)) out.push_back(item(group_sentence(g)));
  for (const std::string& answer : plan_answers(f.results)) out.push_back(item(answer));
  if (const auto law = fitted_law(f.results); law && !law->rows.empty()) out.push_back(item(law_sentence(*law)));
  if (out.empty()) return out;
  Block study = paragraph("");
  study.line = {{f.results.question.empty() ? f.results.title : f.results.question},
                {fmt::format(" ({}, {})", f.results.id, f.results.profile)}};
  out.insert(out.begin(), study);
  return out;
}

}  // namespace

std::vector<Block> guide_sections(const std::vector<Finding>& all) {
  std::vector<std::pair<std::string, std::vector<Block>>> sections;
  for (const Finding& f : all) {
    if (f.results.guide.empty()) continue;
    auto same =
        std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.first == f.results.guide; });
    if (same == sections.end()) same = sections.insert(sections.end(), {f.results.guide, {}});
    for (Block& block : answers(f)) same->second.push_back(std::move(block));
  }
  std::vector<Block> out;
  for (auto& [name, blocks] : sections) {
    if (blocks.empty()) continue;
    out.push_back(heading(name));
    for (Block& block : blocks) out.push_back(std::move(block));
  }
  return out;
}

}  // namespace headroom::experiments
