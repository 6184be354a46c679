#pragma once
#include <cstdint>
#include <string>
#include <vector>

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
};

/// The kinds that kernel_values() knows.
const std::vector<std::string>& kernel_kinds();

/// Throws Error naming the field and what is allowed.
void validate(const KernelConfig& config);

/// ρ(1) … ρ(last) without the zeros at its end. Throws Error when the config is invalid or a value is not finite.
std::vector<double> kernel_values(const KernelConfig& config, int64_t last);

/// "4-gram", "exponential α = 0.2", "list of 12".
std::string describe(const KernelConfig& config);

}  // namespace headroom::tasks
