#pragma once
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// One term h·x_{t−first} ∘ x_{t−second} of a second-order Volterra target; its map x ⊗ z → h·x∘z has norm |h|.
struct VolterraTerm {
  int64_t first = 0, second = 0;
  double weight = 1;
};

/// The setting of the bound.
struct VolterraBoundConfig {
  std::vector<VolterraTerm> terms;
  int64_t token_dim = 4;    ///< d
  double bound = 1;         ///< B >= ‖x_t‖
  double product_norm = 1;  ///< largest ‖x_s ∘ x_t‖, for omitted terms: B² in general, √d for ±1 tokens
};

/// The paper's bound for nonlinear targets (order 2, appendix "Continuous Time-homogeneous System") with `heads` equal
/// heads of width head_dim, for the best choice of lags to fetch and heads for each:
///
///   Σ_kept |h| [B²(γ_a + γ_b) + (B + η_a)(B + η_b) − B²] + Σ_others |h|·product_norm
///   γ_m = √(1 − d_m/d) [d_m < d],  η_m = B·1.3 e^{0.02m} / H_m,  γ_0 = η_0 = 0
///
/// A term is kept if both of its lags are fetched or 0. The search is exact (branch and bound). Left out: the
/// concentration term, whose constant C the paper does not give, and ε_FFN. Throws Error if there are no terms, more
/// than 12 distinct lags, a negative lag, a number that is not finite, or a count < 1. (The paper's proof has ε_Attn
/// without the B of the theorem's η_m: a slip; this is the theorem's.)
double volterra_bound(const VolterraBoundConfig& config, int64_t heads, int64_t head_dim);

}  // namespace headroom::tasks
