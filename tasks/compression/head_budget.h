#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tasks/compression/budget.h"
#include "tasks/compression/kept_losses.h"
#include "tasks/compression/layer_probe.h"
#include "tasks/compression/methods.h"

namespace headroom::tasks {

/// What a budget counts.
enum class BudgetOf {
  parameters,  ///< of W_Q and W_K, or W_V and W_O, in the layers that may change
  cache,       ///< numbers that the key-value cache of the whole model holds per token
};

/// Costs of the heads of some layers at each rank that two methods can give them. Counts from the config alone: no
/// weight is read.
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

/// The rank at which a head's loss is measured, as a share of its width.
inline constexpr double measured_share = 0.25;

/// Gives each key-value head of some layers a rank, for queries and keys, for values, or both: spends a budget where it
/// keeps the predictions best.
///
/// The loss of a head at rank r is KL(base ‖ model with that head alone compressed) on the probe's texts, measured at
/// one rank and taken in proportion to the method's tail at others: what a rank leaves out of the head's scores or
/// outputs. Losses of heads are added up, as if each were alone; LayerProbe::kl() says what a plan really costs.
class HeadBudget {
 public:
  /// Measures all heads of `layers`: as many runs of the model's later part. `progress` gets the heads done, of how
  /// many, and the share of the time: what changes in a layer is run from there on, so that the first take longest.
  /// `kept`, if any, keeps the losses.
  /// Throws Error for methods that are both none, and as the decompositions do.
  HeadBudget(std::shared_ptr<const HeadDecompositions> heads, std::shared_ptr<const LayerProbe> probe,
             const std::set<int64_t>& layers, const std::function<void(int64_t, int64_t, double)>& progress = {},
             KeptLosses* kept = nullptr);

  const HeadCosts& costs() const { return costs_; }
  /// The plan that a budget buys: each head has a rank, or stays as it is. Throws Error with the least possible where
  /// no plan is as cheap, and where the methods do not make smaller what is counted.
  CompressionPlan spend(BudgetOf of, double budget) const;
  /// The cheapest plan found whose KL divergence on the probe's texts, all heads together, is at most `kl`: by
  /// bisection over the budget, which is right where more budget loses less. Throws Error unless kl > 0.
  CompressionPlan within(BudgetOf of, double kl) const;
  /// KL of each head alone at the measured rank: queries and keys first, layer after layer, then values.
  const std::vector<double>& measured() const { return measured_; }
  /// KL(base ‖ compressed) of a whole plan on the probe's texts.
  double measured_kl(const CompressionPlan& plan) const;

 private:
  /// The choices of each place, the ranks of which go to `ranks`, 0 for a head that stays.
  std::vector<BudgetItem> items(BudgetOf of, std::vector<std::vector<int64_t>>& ranks) const;

  std::shared_ptr<const HeadDecompositions> heads_;
  std::shared_ptr<const LayerProbe> probe_;
  HeadCosts costs_;
  std::vector<double> measured_, per_tail_;
};

}  // namespace headroom::tasks
