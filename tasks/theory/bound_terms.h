#pragma once
#include <cstdint>
#include <vector>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// Theorem 1's bound on an allocation, term by term, each with B = 1 (paper, §Tradeoff, Eq. E(D)).
struct BoundTerms {
  double projection = 0;  ///< Σ_fetched ‖ρ_m‖ √(1 − d_m/d): heads narrower than the token
  double extraction = 0;  ///< Σ_fetched ‖ρ_m‖ 1.3 e^{0.02m}/H_m: the part whose lemma is false
  double truncation = 0;  ///< Σ_others ‖ρ_k‖: lags without heads
  /// Σ_{fetched, d_m < d} ‖ρ_m‖ C √(log(2M/δ)/d), with C = 2, the least that the projection lemma's proof allows (c =
  /// 1/4). Not part of the objective; zero for full-width heads, which project nothing away.
  double concentration = 0;
  /// Σ_{fetched, d_m < d} ‖ρ_m‖ √q_m, to replace projection + concentration: q_m is the exact quantile 1 − δ/M of
  /// Beta((d − d_m)/2, d_m/2), the law of the share of ‖x‖² that a random projection loses.
  double exact_projection = 0;

  double objective() const { return projection + extraction + truncation; }
};

/// The terms for `groups`, at most one per lag. δ `risk`, in (0, 1): the probability that the bound may fail for one
/// token per lag. A lag's rank replaces d. Throws Error if a group names no lag of rho, or risk is not a probability.
BoundTerms bound_terms(const std::vector<double>& rho, const std::vector<LagGroup>& groups, const LagRanks& ranks,
                       double risk);

/// Σ_fetched ‖ρ_m‖ error(group) + Σ_others ‖ρ_k‖: the objective for any cost of a group.
double objective_of(const std::vector<double>& rho, const std::vector<LagGroup>& groups, const GroupError& error);

}  // namespace headroom::tasks
