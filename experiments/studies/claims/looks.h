#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// The numbers of seeds at which claims are judged when seeds are added until they are decided: `first`, then twice as
/// many each time, and at the end `at_most`. They are fixed before the first look.
std::vector<int64_t> looks(int64_t first, int64_t at_most);
/// The same where p-values hold at any number of looks: a quarter more each time, one seed at least.
std::vector<int64_t> anytime_looks(int64_t first, int64_t at_most);

/// The share of its significance α that a claim may spend in each of these looks; they sum to 1. The spending function
/// is the one of Pocock's type of Lan & DeMets (Discrete sequential boundaries for clinical trials, Biometrika 70,
/// 1983), α*(t) = α ln(1 + (e − 1) t) at the information fraction t = seeds / at most; a look spends its increase.
///
/// A look is tested at its own share, not at the higher level that the joint distribution of normal statistics would
/// allow: by the union bound the chance that any look is wrong is at most α whatever is tested and however looks depend
/// on one another, which holds for t tests of three seeds, for intervals and under Holm's order as well. A claim
/// one of whose x got further seeds is judged anew, on all of them and at the share of the look that they were trained
/// for; one whose data are those of an earlier look is judged at the share of that look still, since it has no other
/// chance. A comparison that got none while others did has its p of before: it reached its level then, or refuted the
/// other side, or was given up, with a p above the level of every later look, so no further look can be its wrong one.
std::vector<double> shares_of_looks(const std::vector<int64_t>& looks);

/// An x of a series.
using SeriesAndX = std::pair<std::string, double>;

/// The looks at a study's data so far.
struct LooksTaken {
  std::vector<double> shares{1};         ///< that each may spend of a claim's significance; one look in most studies
  std::map<SeriesAndX, size_t> last_of;  ///< the look for which each x got its last seeds; 0 for those not in it
  int64_t at_most = 0;                   ///< seeds of the last look; 0 where no seeds are added
  bool anytime = false;                  ///< p-values hold at any number of looks (analysis/statistics.h)

  size_t look_of(const SeriesAndX& place) const;
  /// The share that a claim about these series may spend: that of the latest look for which one of their x got seeds.
  double share(const std::vector<std::string>& series) const;
};

}  // namespace headroom::experiments
