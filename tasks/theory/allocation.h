#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace headroom::tasks {

/// Theorem 1's cost of one group of heads, in units of B·‖ρ_m‖ (paper, §Tradeoff), without the concentration term,
/// whose constant the paper leaves open. A heuristic, not a bound: the lemma behind 1.3 e^{0.02m}/H is false as stated,
/// so label everything derived from it as the paper's.
///
/// 1.3 e^{0.02·lag} / heads: fetching the token `lag` steps back.
double extraction_error(int64_t lag, double heads);
/// √(1 − head_dim/token_dim) if the head is narrower than the token, else 0: the loss by its projection.
double projection_error(int64_t head_dim, int64_t token_dim);

/// E_D(H) = [H > D/d]·√(1 − D/(d·H)) + 1.3 e^{0.02} / H: H heads of width D/H that fetch one token one step back
/// (paper, appendix "Tradeoff in Theorem 1"). D `width`, d `token_dim`. Throws Error unless all are >= 1.
double budget_curve(int64_t width, int64_t token_dim, int64_t heads);

/// The lags that may be fetched: `prefix` the lags 1..M with M >= 1, as Corollary 1 prints it; `subset` any lags,
/// possibly none. A lag that is not fetched costs its ‖ρ‖.
enum class Lags { prefix, subset };

/// The number of token directions each lag's ρ_m reads, its rank r_m: d, the token's width, or a list for lags 1, 2, …,
/// with d beyond it. A head of lag m loses nothing once it is r_m wide, so r_m replaces the paper's d.
struct LagRanks {
  int64_t token_dim;
  std::vector<int64_t> ranks;

  LagRanks(int64_t token_dim_in, std::vector<int64_t> ranks_in = {})  // NOLINT: a width is what most targets have
      : token_dim(token_dim_in), ranks(std::move(ranks_in)) {}
  int64_t at(int64_t lag) const {
    const auto i = static_cast<size_t>(lag - 1);
    return i < ranks.size() ? ranks[i] : token_dim;
  }
};

/// Throws Error naming `field` unless every rank is in 1 … token_dim.
void check_ranks(const char* field, const LagRanks& ranks);

/// Heads that serve one lag.
struct LagGroup {
  int64_t lag = 0, heads = 0, head_dim = 0;
  bool operator==(const LagGroup&) const = default;
};

struct Allocation {
  double bound = 0;  ///< Σ_fetched ‖ρ_m‖ (projection + extraction error) + Σ_others ‖ρ_m‖, with B = 1
  std::vector<LagGroup> groups;  ///< in order of their lags
};

/// A group's cost per unit of ‖ρ_lag‖. Must be finite and >= 0.
using GroupError = std::function<double(const LagGroup&)>;

/// Theorem 1's cost: projection_error + extraction_error, with the lag's rank as the token's width.
GroupError paper_error(const LagRanks& ranks);

/// A sharper cost: heads of one lag may take different blocks of the token's coordinates. `heads` in q sub-groups of
/// ⌊heads/q⌋ keep min(d, q·head_dim) coordinates; it takes the best q >= 1, and q = 1 is Theorem 1's. If head_dim
/// divides token_dim and the sub-groups are even, narrow heads do as well as heads·head_dim/d full-width ones. Its 1/H
/// rests on the same false lemma.
GroupError sharper_error(const LagRanks& ranks);

/// The allocations to consider.
struct AllocationRules {
  Lags lags = Lags::subset;
  bool exact_width = false;  ///< Σ heads·head_dim = width, as the paper prints it; else <= width
};

/// The least objective of Corollary 1 over all ways to share `heads` equal heads among lags: exact, by dynamic
/// programming over (lag, heads used). `rho`: |ρ(1)|, |ρ(2)|, … Lag 0 is free (the residual). Throws Error if rho is
/// empty, negative, not finite or all zero, or if a count is < 1.
Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, int64_t token_dim,
                       Lags lags = Lags::subset);
/// The same with another cost of a group.
Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, const GroupError& error,
                       Lags lags = Lags::subset);

/// The least objective over all numbers and widths of heads, one of each per lag: exact, by dynamic programming over
/// (lag, width used), in at most lags·width² steps. Among equal costs it takes one that uses the least width. Throws
/// Error as equal_heads() does, and if no allocation meets the rules.
Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim,
                           const AllocationRules& rules = {});
/// The same with another cost of a group.
Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim, const GroupError& error,
                           const AllocationRules& rules);

/// The best allocation, and how much worse the others are.
struct AllocationReport {
  Allocation best;
  /// The cheapest one that serves some lag with ‖ρ‖ > 0 differently (not at all, or with another number or width of
  /// heads); none if there is only one allocation.
  std::optional<Allocation> runner_up;
  /// cost_of_width[w]: the least objective with width w from 0 (exactly w if rules.exact_width); infinite if
  /// impossible.
  std::vector<double> cost_of_width;
};

/// best_allocation() and its runner-up, exact too; three times the work.
AllocationReport study_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim,
                                  const GroupError& error, const AllocationRules& rules);

}  // namespace headroom::tasks
