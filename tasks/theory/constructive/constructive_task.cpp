#include "tasks/theory/constructive/constructive_task.h"

#include "tasks/theory/allocation.h"

namespace headroom::tasks {
namespace {

/// Theorem 1's bound for a plan.
double promised(const ConstructionPlan& plan) {
  if (plan.config.kind != Construction::shared) return paper_bound(plan);
  std::vector<double> rho(static_cast<size_t>(plan.config.target.back().lag), 0.0);
  for (const TargetTerm& term : plan.config.target) rho[static_cast<size_t>(term.lag - 1)] = std::abs(term.weight);
  return best_allocation(rho, plan.config.width, plan.config.token_dim).bound;
}

}  // namespace

void validate(const ConstructiveConfig& c) {
  require(c.token_dim >= 1 && c.token_dim <= 1024, "token_dim: expected 1 to 1024, got {}", c.token_dim);
  require(c.heads >= 1 && c.heads <= 64, "heads: expected 1 to 64, got {}", c.heads);
  require(c.head_dim >= 1 && c.head_dim <= c.token_dim, "head_dim: expected 1 to token_dim = {}, got {}", c.token_dim,
          c.head_dim);
  require(c.first_lag >= 1 && c.first_lag <= 64, "first_lag: expected 1 to 64, got {}", c.first_lag);
  require(c.lags >= 1 && c.lags <= 64, "lags: expected 1 to 64, got {}", c.lags);
  require(c.sequences >= 1 && c.sequences <= 1 << 20, "sequences: expected 1 to {}, got {}", 1 << 20, c.sequences);
  require(c.length >= 1 && c.length <= 4096, "length: expected 1 to 4096, got {}", c.length);
  require(!c.split || (c.token_dim % c.head_dim == 0 && c.heads % (c.token_dim / c.head_dim) == 0),
          "split: expected head_dim = {} to divide token_dim = {}, and their ratio to divide heads = {}", c.head_dim,
          c.token_dim, c.heads);
}

ConstructionConfig construction_of(const ConstructiveConfig& c) {
  ConstructionConfig out{.kind = c.kind, .token_dim = c.token_dim, .target = {}, .groups = {}, .mended = c.mended};
  out.epsilon = c.dtype == engine::DType::f64 ? 0x1p-53 : 0x1p-24;
  const int64_t parts = c.split ? c.token_dim / c.head_dim : 1;
  for (int64_t i = 0; i < c.lags; ++i) {
    out.target.push_back({.lag = c.first_lag + i});
    for (int64_t part = 0; part < parts; ++part) {
      // Without a split, neighbouring lags read rows that overlap by half.
      const int64_t first = c.split ? part * c.head_dim : i * (c.head_dim / 2) % c.token_dim;
      out.groups.push_back({.lag = c.first_lag + i,
                            .heads = c.heads / parts,
                            .head_dim = c.head_dim,
                            .scale = c.scale,
                            .first_row = first});
    }
  }
  return out;
}

Metrics ConstructiveTask::compute(uint64_t seed) const {
  const ConstructionPlan plan = plan_construction(construction_of(config_));
  const double error =
      random_error(plan, config_.sequences, config_.length, seed, config_.dtype, config_.activation).sup;
  Metrics metrics{{"sup_error", error}, {"bound", promised(plan)}};
  if (error > 0) metrics["tightness"] = metrics["bound"] / error;
  if (!config_.mended.all()) return metrics;
  metrics["worst_case"] = worst_case(plan);
  metrics["sharp_bound"] = sharp_bound(plan);
  return metrics;
}

std::string ConstructiveTask::describe() const {
  return fmt::format("the proof's Transformer ({}{}), lags {} to {}, {} heads of dim {} each, d = {}, {}",
                     name_in(construction_names, config_.kind), config_.mended.all() ? "" : ", not mended",
                     config_.first_lag, config_.first_lag + config_.lags - 1, config_.heads, config_.head_dim,
                     config_.token_dim, engine::name_of(config_.dtype));
}

std::set<std::string> metric_names_of(const ConstructiveConfig& config) {
  std::set<std::string> names{"sup_error", "bound", "tightness"};
  if (config.mended.all()) names.insert({"worst_case", "sharp_bound"});
  return names;
}

}  // namespace headroom::tasks
