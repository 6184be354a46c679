#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tasks/compression/methods.h"

namespace headroom::tasks {

/// What a budget counts.
enum class BudgetOf {
  parameters,  ///< of W_Q and W_K, or W_V and W_O, in the layers that may change
  cache,       ///< numbers that the key-value cache of the whole model holds per token
};

/// What the heads of some layers take of a budget at each rank that two methods can give them. Counts from the config
/// alone: no weight is read.
class HeadCosts {
 public:
  /// Throws Error for methods that are both none, and where `base` does not fit them.
  HeadCosts(const models::TransformerConfig& base, QkMethod qk, VoMethod vo, const std::set<int64_t>& layers);

  /// Queries and keys first, layer after layer, then values.
  const std::vector<HeadPlace>& places() const { return places_; }
  /// The plan that changes nothing, of the two methods.
  const CompressionPlan& nothing() const { return nothing_; }
  std::vector<int64_t> ranks_of(const HeadPlace& place) const;
  /// `nothing()` with one rank.
  CompressionPlan with(const HeadPlace& place, int64_t rank) const;
  /// What a place can take: a rank and its cost, rising in both, and last, as rank 0, the place as it is. Ranks that
  /// cost no less than a higher one are left out.
  std::vector<std::pair<int64_t, double>> options(BudgetOf of, const HeadPlace& place) const;

  /// What the base takes of such a budget, and the least that a plan takes.
  double full(BudgetOf of) const;
  double least(BudgetOf of) const;
  /// What a plan takes of it.
  double cost(BudgetOf of, const CompressionPlan& plan) const;
  /// What the methods make smaller: parameters, or where no rank saves any, or queries and keys are mapped behind the
  /// turn, the cache: such maps add parameters, which narrower values must not pay for.
  BudgetOf saved() const;
  /// Throws Error with the least possible where no plan is as cheap, and where the methods do not make smaller what is
  /// counted.
  void require_possible(BudgetOf of, double budget) const;

 private:
  models::TransformerConfig base_;
  CompressionPlan nothing_;
  std::vector<HeadPlace> places_;
};

}  // namespace headroom::tasks
