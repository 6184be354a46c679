#pragma once
#include <map>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// The text of experiments/data/headlines.json, which is part of the program.
extern const char* const kHeadlines;

/// A sentence of the README, and what it stands on.
struct Headline {
  std::string says;
  std::map<std::string, std::vector<std::string>> rests_on;  ///< page of a study → its series; none: all of them
  std::string one_value;                                     ///< what none of them varies
  std::string turned;  ///< how it read before it was tested further, and what changed it
};

/// All of them, in the README's order.
const std::vector<Headline>& headlines();

/// For each headline of which some study is there, a row per series: steps, the grid of learning rates, seeds, and what
/// its claims say. Empty where none is.
Blocks grounds_page(const std::vector<Analysis>& all);

}  // namespace headroom::experiments
