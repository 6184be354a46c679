#include "experiments/studies/pages/scoreboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/studies/pages/headline.h"

namespace headroom::experiments {
namespace {

using Variants = std::vector<SentenceVerdict::Variant>;

/// What tells a variant from the others of its study: its series and, where it is not the report's y, its metric.
std::string variant_name(const ClaimConfig& claim) {
  if (claim.series.empty() || claim.metric.empty()) return claim.series + claim.metric;
  return claim.series + ": " + claim.metric;
}

/// The first three of more than four, whose page has the rest.
std::string named_in_brackets(std::vector<std::string> names) {
  constexpr size_t most = 4;
  if (names.size() > most) {
    const size_t rest = names.size() - most + 1;
    names.resize(most - 1);
    names.push_back(fmt::format("{} more", rest));
  }
  return fmt::format(" ({})", fmt::join(names, "; "));
}

/// `words: study (variant; variant), study`, each study a link to its page; a variant's name once.
void add_variants(Phrase& cell, const std::string& words, const Variants& variants, const std::vector<Analysis>& all,
                  const std::string& folder) {
  std::vector<std::pair<const Analysis*, std::vector<std::string>>> studies;
  for (const auto& [study, verdict] : variants) {
    if (studies.empty() || studies.back().first != study) studies.push_back({study, {}});
    std::vector<std::string>& names = studies.back().second;
    const std::string own = variant_name(verdict->claim);
    if (!own.empty() && std::find(names.begin(), names.end(), own) == names.end()) names.push_back(own);
  }
  for (const auto& [study, names] : studies) {
    const bool is_first = study == studies.front().first;
    cell.push_back({is_first ? fmt::format("{}{}: ", cell.empty() ? "" : "; ", words) : ", "});
    const std::string page = page_name(all, *study);
    cell.push_back({.text = page, .link = fmt::format("{}/{}.md", folder, page)});
    if (!names.empty()) cell.push_back({named_in_brackets(names)});
  }
}

}  // namespace

const char* SentenceVerdict::status() const {
  if (holds.empty() && fails.empty()) return "open";
  if (!sentence->at_most.empty()) return sentence->at_most.c_str();
  if (!holds.empty() && !fails.empty()) return "depends";
  return fails.empty() ? "holds" : "fails";
}

std::string SentenceVerdict::words() const {
  const bool is_decided = sentence->at_most.empty() && holds.empty() != fails.empty();
  return std::string(status()) + (is_decided && !open.empty() ? " so far" : "");
}

std::vector<SentenceVerdict> sentence_verdicts(const std::vector<Analysis>& all) {
  std::vector<SentenceVerdict> out;
  for (const PaperSentence& sentence : paper_sentences()) {
    SentenceVerdict& one = out.emplace_back(SentenceVerdict{&sentence, {}, {}, {}, {}});
    for (const Analysis& f : all)
      for (const Verdict& v : f.verdicts()) {
        if (v.claim.sentence != sentence.id) continue;
        const std::vector<std::string>& other = sentence.elsewhere;
        const bool is_elsewhere = std::find(other.begin(), other.end(), v.claim.series) != other.end();
        Variants& where = is_elsewhere                      ? one.elsewhere
                          : v.status == VerdictStatus::pass ? one.holds
                          : v.status == VerdictStatus::fail ? one.fails
                                                            : one.open;
        where.push_back({&f, &v});
      }
  }
  return out;
}

Blocks scoreboard(const std::vector<Analysis>& all, const std::string& folder) {
  const std::vector<SentenceVerdict> sentences = sentence_verdicts(all);
  const bool is_tested = std::any_of(sentences.begin(), sentences.end(), [](const SentenceVerdict& s) {
    return !s.holds.empty() || !s.fails.empty() || !s.open.empty() || !s.elsewhere.empty();
  });
  if (!is_tested) return {};
  std::map<std::string, int> counts;
  std::vector<std::vector<Phrase>> rows;
  for (const SentenceVerdict& s : sentences) {
    ++counts[s.status()];
    Phrase cell;
    add_variants(cell, "holds", s.holds, all, folder);
    add_variants(cell, "fails", s.fails, all, folder);
    add_variants(cell, "undecided", s.open, all, folder);
    add_variants(cell, "not counted, as the setting is not the paper’s", s.elsewhere, all, folder);
    if ((!s.holds.empty() || !s.fails.empty()) && !s.sentence->because.empty())
      cell.push_back({fmt::format("; {}: {}", s.status(), s.sentence->because)});
    if (cell.empty())
      cell.push_back({s.sentence->untested.empty() ? "not run" : "not tested: " + s.sentence->untested});
    rows.push_back(text_cells({s.sentence->says, s.sentence->where, s.words()}));
    rows.back()[2][0].is_strong = true;
    rows.back().push_back(std::move(cell));
  }
  return {
      paragraph(fmt::format("The paper’s {} distinct sentences about experiments: {} hold, {} fail, {} depend on the "
                            "setting, {} are open. A sentence holds or fails if all its decided variants do, unless "
                            "a reason stands beside it; “so far” means that others are undecided.",
                            sentences.size(), counts["holds"], counts["fails"], counts["depends"], counts["open"])),
      table("The paper’s sentences", {"the paper says", "where", "verdict", "in which studies and series"},
            std::move(rows))};
}

}  // namespace headroom::experiments
