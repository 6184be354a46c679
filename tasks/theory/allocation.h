#pragma once
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// What the bound of Theorem 1 charges for one group of heads, in units of B·‖ρ_m‖ (paper, §Tradeoff), without the
/// concentration term, whose constant the paper leaves open. A heuristic, not a bound: the lemma behind 1.3 e^{0.02m}/H
/// is false as stated, so everything that is drawn from here must be labelled as the paper's.
///
/// 1.3 e^{0.02·lag} / heads: fetching the token `lag` steps back.
double extraction_error(int64_t lag, double heads);
/// √(1 − head_dim/token_dim) when the head is narrower than the token, else 0: what its projection loses.
double projection_error(int64_t head_dim, int64_t token_dim);

/// E_D(H) = [H > D/d]·√(1 − D/(d·H)) + 1.3 e^{0.02} / H: H heads of width D/H that fetch one token one step back
/// (paper, appendix "Tradeoff in Theorem 1"). D `width`, d `token_dim`. Throws Error unless all are >= 1.
double budget_curve(int64_t width, int64_t token_dim, int64_t heads);

/// Which lags may be fetched: `prefix` the lags 1..M with M >= 1, as Corollary 1 prints it; `subset` any lags, none
/// included, each at its own lag. A lag that is not fetched costs its ‖ρ‖.
enum class Lags { prefix, subset };

/// Heads that serve one lag.
struct LagGroup {
  int64_t lag = 0, heads = 0, head_dim = 0;
  bool operator==(const LagGroup&) const = default;
};

struct Allocation {
  double bound = 0;  ///< Σ_fetched ‖ρ_m‖ (projection + extraction error) + Σ_others ‖ρ_m‖, with B = 1
  std::vector<LagGroup> groups;  ///< in order of their lags
};

/// The smallest objective of Corollary 1 over all ways to share `heads` equal heads among lags: exact, by dynamic
/// programming over (lag, heads spent). `rho`: |ρ(1)|, |ρ(2)|, … Lag 0 is free (the residual). Throws Error when rho is
/// empty, negative or not finite, or a count is < 1.
Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, int64_t token_dim,
                       Lags lags = Lags::subset);

/// The same over all numbers and widths of heads with Σ heads·head_dim <= width.
Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim, Lags lags = Lags::subset);

}  // namespace headroom::tasks
