#pragma once
#include <cstdint>
#include <vector>

namespace headroom::experiments {

/// The numbers of seeds at which claims are judged when seeds are added until they are decided: `first`, then twice as
/// many each time, and at the end `at_most`. They are fixed before the first look.
std::vector<int64_t> looks(int64_t first, int64_t at_most);

/// The share of its significance α that a claim may spend in each of these looks; they sum to 1. The spending function
/// is the one of Pocock's type of Lan & DeMets (Discrete sequential boundaries for clinical trials, Biometrika 70,
/// 1983), α*(t) = α ln(1 + (e − 1) t) at the information fraction t = seeds / at most; a look spends its increase.
///
/// A look is tested at its own share, not at the higher level that the joint distribution of normal statistics would
/// allow: by the union bound the chance that any look is wrong is at most α whatever is tested and however looks depend
/// on one another, which holds for t tests of three seeds, for intervals and under Holm's order as well. That covers
/// the one verdict that counts, the latest look's. Each look judges every claim anew, at its own share and on all seeds
/// there are by then: a claim that was decided before stays so only where the latest look says it again.
std::vector<double> shares_of_looks(const std::vector<int64_t>& looks);

}  // namespace headroom::experiments
