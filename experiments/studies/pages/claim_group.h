#pragma once
#include <string>
#include <vector>

#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// One claim in one study, over all series that it was tried on. None of its verdicts is "not run".
struct ClaimGroup {
  const Finding* finding = nullptr;
  std::string words;
  std::vector<Verdict> verdicts;

  /// The verdict that supports the claim least: the one to show of several, which cannot flatter them.
  const Verdict& weakest() const;
};

/// The judged claims of a study, or those of one source, by their words, in the study's order.
std::vector<ClaimGroup> claim_groups(const Finding& finding);
std::vector<ClaimGroup> claim_groups(const Finding& finding, ClaimSource source);

/// "fail: ALiBi alone; undecided: D 256, learned positions", for every status that some verdicts have.
std::string by_status(const std::vector<Verdict>& verdicts);

}  // namespace headroom::experiments
