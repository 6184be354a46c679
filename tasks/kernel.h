#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace headroom::tasks {

/// The memory ρ(s), s = 1, 2, …, of a linear functional (the paper's 4-gram; the others after Jiang et al., 2025):
///
///   n-gram       1 for s <= n, else 0
///   exponential  e^{−αs}
///   polynomial   (1 + s)^{−α}
///   delta        1 for s = α, else 0
///   airy         Ai(s − α)
///   list         values[s − 1], 0 beyond them: the user's own
struct KernelConfig {
  std::string kind = "n-gram";
  int64_t n = 4;
  double alpha = 1;
  std::vector<double> values{};
  /// Ranks of the maps of lags 1, 2, …: ρ(s) then means ρ(s) times an orthogonal projection onto that many random
  /// directions of the token, drawn per lag from `rank_seed`. Beyond the list, or if it is empty, the map is ρ(s) times
  /// the identity.
  std::vector<int64_t> ranks{};
  int64_t rank_seed = 0;
};

/// The kinds that kernel_values() knows.
const std::vector<std::string>& kernel_kinds();

/// Throws Error naming the field and what is allowed.
void validate(const KernelConfig& config);

/// ρ(1) … ρ(last) without trailing zeros. Throws Error if the config is invalid or a value is not finite.
std::vector<double> kernel_values(const KernelConfig& config, int64_t last);

/// The projection P (d, d), f64, of a lag with a rank: symmetric, P² = P, trace = rank; the identity if rank = d.
/// Undefined for a lag without one.
engine::Tensor lag_projection(const KernelConfig& config, int64_t lag, int64_t token_dim);

/// "4-gram", "4-gram of ranks 8 6 4 2", "exponential α = 0.2", "list of 12".
std::string describe(const KernelConfig& config);

}  // namespace headroom::tasks
