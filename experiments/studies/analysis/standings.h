#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/case.h"

namespace headroom::experiments {

/// How the x of a curve of trained models stand among each other, as HeadChoice says it of numbers of heads.
struct Standings {
  double margin = 0;                                                  ///< what counts as worse: 1.1 is 10 %
  std::string metric;                                                 ///< that they were judged by
  int64_t seeds = 0;                                                  ///< the fewest of any x
  std::vector<std::pair<double, HeadChoice::Option::Standing>> at{};  ///< by x, one of them the best on validation
};

/// Those of a series; none where trials of the study are missing, nothing was trained or learned, or fewer than two x
/// have values above 0. A single seed leaves all but the best open.
std::optional<Standings> standings(const Analysis& results, const std::string& series);

/// The standing of one point among the others of a case: see head_choice().
HeadChoice::Option::Standing standing(const Case& c, const Point& p, double margin);

}  // namespace headroom::experiments
