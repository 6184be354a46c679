#include "tasks/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/airy.hpp>
#include <cmath>

#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"
#include "tasks/no_throw.h"

namespace headroom::tasks {
namespace {

double rho(const KernelConfig& config, int64_t s) {
  const auto at = static_cast<double>(s);
  if (config.kind == "n-gram") return s <= config.n ? 1 : 0;
  if (config.kind == "exponential") return std::exp(-config.alpha * at);
  if (config.kind == "polynomial") return std::pow(1 + at, -config.alpha);
  if (config.kind == "delta") return at == config.alpha ? 1 : 0;
  if (config.kind == "airy") return boost::math::airy_ai(at - config.alpha, NoThrow());
  return static_cast<size_t>(s) <= config.values.size() ? config.values[static_cast<size_t>(s - 1)] : 0;
}

}  // namespace

const std::vector<std::string>& kernel_kinds() {
  static const std::vector<std::string> kinds{"n-gram", "exponential", "polynomial", "delta", "airy", "list"};
  return kinds;
}

void validate(const KernelConfig& config) {
  const auto& kinds = kernel_kinds();
  require(std::find(kinds.begin(), kinds.end(), config.kind) != kinds.end(), "kernel.kind: expected one of {}, got {}",
          fmt::join(kinds, ", "), config.kind);
  require(config.n >= 1, "kernel.n: expected >= 1, got {}", config.n);
  require(std::isfinite(config.alpha), "kernel.alpha: {} is not finite", config.alpha);
  if (config.kind == "exponential" || config.kind == "polynomial")
    require(config.alpha > 0, "kernel.alpha: a kernel that does not decay, expected > 0, got {}", config.alpha);
  if (config.kind == "delta")
    require(config.alpha >= 1 && config.alpha == std::floor(config.alpha),
            "kernel.alpha: the lag of a delta, expected an integer >= 1, got {}", config.alpha);
  for (const int64_t rank : config.ranks) require(rank >= 1, "kernel.ranks: expected ranks >= 1, got {}", rank);
  require(config.rank_seed >= 0, "kernel.rank_seed: expected >= 0, got {}", config.rank_seed);
  if (config.kind == "list") require(!config.values.empty(), "kernel.values: empty, expected rho(1), rho(2), ...");
}

std::vector<double> kernel_values(const KernelConfig& config, int64_t last) {
  validate(config);
  std::vector<double> values;
  for (int64_t s = 1; s <= last; ++s) {
    values.push_back(rho(config, s));
    require(std::isfinite(values.back()), "kernel: rho({}) is {}", s, values.back());
  }
  while (!values.empty() && values.back() == 0) values.pop_back();
  return values;
}

engine::Tensor lag_projection(const KernelConfig& config, int64_t lag, int64_t token_dim) {
  const auto i = static_cast<size_t>(lag - 1);
  if (i >= config.ranks.size()) return {};
  const int64_t rank = config.ranks[i];
  engine::Rng rng(static_cast<uint64_t>(config.rank_seed));
  const engine::Tensor drawn = engine::random_normal({rank, token_dim}, rng, fmt::format("directions of lag {}", lag),
                                                     0, 1, engine::DType::f64);  // (r, d)
  const engine::Tensor q = engine::linalg::svd(drawn).vt;                        // (r, d), orthonormal rows
  return engine::matmul(q, q, true, false);                                      // (d, d)
}

std::string describe(const KernelConfig& config) {
  if (!config.ranks.empty()) {
    KernelConfig full = config;
    full.ranks.clear();
    return fmt::format("{} of ranks {}", describe(full), fmt::join(config.ranks, " "));
  }
  if (config.kind == "n-gram") return fmt::format("{}-gram", config.n);
  if (config.kind == "list") return fmt::format("list of {}", config.values.size());
  return fmt::format("{} α = {}", config.kind, config.alpha);
}

}  // namespace headroom::tasks
