#include "experiments/studies/pages/claim_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/studies/pages/headline.h"

namespace headroom::experiments {
namespace {

/// "ALiBi alone: the plan against ALiBi alone: equal, 8 wide"; what is measured where there is one series.
std::string subject(const Verdict& v) {
  const std::string in_brackets = subject_in_brackets(v.claim);
  return in_brackets.empty() ? claim_name(v.claim) : in_brackets.substr(2, in_brackets.size() - 3);
}

std::vector<ClaimGroup> grouped(const Finding& f, const std::vector<Verdict>& some) {
  std::vector<ClaimGroup> groups;
  for (const Verdict& v : some) {
    if (v.status == VerdictStatus::not_run) continue;
    const std::string words = in_words(v.claim);
    auto same = std::find_if(groups.begin(), groups.end(), [&](const ClaimGroup& g) { return g.words == words; });
    if (same == groups.end()) same = groups.insert(groups.end(), {&f, words, {}});
    same->verdicts.push_back(v);
  }
  return groups;
}

}  // namespace

const Verdict& ClaimGroup::weakest() const {
  const auto rank = [](const Verdict& v) {
    const int status = v.status == VerdictStatus::fail ? 0 : v.status == VerdictStatus::undecided ? 1 : 2;
    return std::pair(status, std::isnan(v.margin) ? -INFINITY : v.margin);
  };
  return *std::min_element(verdicts.begin(), verdicts.end(),
                           [&](const Verdict& a, const Verdict& b) { return rank(a) < rank(b); });
}

std::vector<ClaimGroup> claim_groups(const Finding& finding) { return grouped(finding, finding.verdicts); }

std::vector<ClaimGroup> claim_groups(const Finding& finding, ClaimSource of) {
  std::vector<Verdict> some;
  for (const Verdict& v : finding.verdicts)
    if (source(v.claim) == of) some.push_back(v);
  return grouped(finding, some);
}

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

}  // namespace headroom::experiments
