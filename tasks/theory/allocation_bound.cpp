#include "tasks/theory/allocation_bound.h"

#include <cmath>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

using Curve = AllocationBoundConfig::Curve;

std::vector<double> norms(const AllocationBoundConfig& config) {
  std::vector<double> rho = kernel_values(config.kernel, config.length - 1);
  require(!rho.empty(), "kernel: rho(s) is 0 for every s in 1..{}", config.length - 1);
  for (double& value : rho) value = std::abs(value);
  return rho;
}

}  // namespace

void validate(const AllocationBoundConfig& config) {
  require(config.width >= 1, "width: expected >= 1, got {}", config.width);
  require(config.token_dim >= 1, "token_dim: expected >= 1, got {}", config.token_dim);
  require(config.heads >= 1, "heads: expected >= 1, got {}", config.heads);
  if (config.curve == Curve::budget) return;
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  check_ranks("kernel.ranks", {config.token_dim, config.kernel.ranks});
  require(config.width % config.heads == 0, "heads: {} does not divide the width {}", config.heads, config.width);
}

AllocationBound::AllocationBound(const AllocationBoundConfig& config) : ConfiguredMeasurement(config) {
  value_ = config.curve == Curve::budget
               ? budget_curve(config.width, config.token_dim, config.heads)
               : equal_heads(norms(config), config.heads, config.width / config.heads,
                             paper_error({config.token_dim, config.kernel.ranks}), config.lags)
                     .bound;
}

std::string AllocationBound::describe() const {
  const std::string widths = fmt::format("D = {}, d = {}, H = {}", config_.width, config_.token_dim, config_.heads);
  if (config_.curve == Curve::budget) return "E_D(H), " + widths;
  return fmt::format("Corollary 1 for equal heads, {}, {}", tasks::describe(config_.kernel), widths);
}

}  // namespace headroom::tasks
