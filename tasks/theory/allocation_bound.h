#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "tasks/kernel.h"
#include "tasks/measurement.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// A point on one of the paper's curves: a formula, without training.
struct AllocationBoundConfig {
  using Made = class AllocationBound;
  /// `budget`: E_D(H) of one lag, see budget_curve(). `equal_heads`: Corollary 1 for H heads of width D/H.
  enum class Curve { budget, equal_heads };
  Curve curve = Curve::budget;
  int64_t width = 128;     ///< D
  int64_t token_dim = 16;  ///< d
  int64_t heads = 1;       ///< H
  KernelConfig kernel{};   ///< equal_heads: ρ
  int64_t length = 64;     ///< equal_heads: lags 1 .. length − 1
  Lags lags = Lags::subset;
};

/// Throws Error naming the field and what is allowed; equal heads need H to divide D.
void validate(const AllocationBoundConfig& config);

/// One metric, "bound": the curve's value.
class AllocationBound : public ConfiguredMeasurement<AllocationBoundConfig> {
 public:
  explicit AllocationBound(const AllocationBoundConfig& config);

  Metrics compute(uint64_t /*seed*/) const override { return {{"bound", value_}}; }
  std::string describe() const override;

 private:
  double value_ = 0;
};

/// The metric names of a config.
inline std::set<std::string> metric_names_of(const AllocationBoundConfig&) { return {"bound"}; }

}  // namespace headroom::tasks
