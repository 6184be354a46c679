#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// An option for one lag: `spent` of the budget buys `group`, with `error` per unit of ‖ρ‖.
struct Offer {
  int64_t spent = 0;
  LagGroup group;
  double error = 0;
};

/// Picks at most one offer per lag to minimise Σ_picked ρ·error + Σ_others ρ, spending at most (`exact`: all of) the
/// budget: exact min-plus dynamic programming over (lag, spent). Computes one lag's cells in parallel; their values
/// depend on no order.
class AllocationSearch {
 public:
  /// `offers(lag)`: every offer of a lag, in any order, each spending >= 1. Throws Error if lags times budget exceed
  /// 2^27: the tables would not fit into a gigabyte.
  AllocationSearch(const std::vector<double>& rho, int64_t budget, bool exact, Lags lags,
                   std::function<std::vector<Offer>(int64_t lag)> offers);

  /// Throws Error if no choice spends what it must.
  Allocation best();
  /// The cheapest choice that differs from best() at a lag with ρ > 0.
  std::optional<Allocation> runner_up();
  /// The least cost for each budget 0..budget.
  std::vector<double> cost_of_budget();

 private:
  using Row = std::vector<double>;
  struct End {  ///< of a cheapest choice: after `lags` lags, `spent` is used up
    double cost;
    size_t lags, spent;
  };

  double rho(size_t lag) const { return rho_[lag - 1]; }
  bool drops_any() const { return lags_ == Lags::subset; }
  /// A lag's offers that no other offer beats.
  const std::vector<Offer>& useful(size_t lag);
  Row step(const Row& from, size_t lag);
  void forward();
  void backward();
  End cheapest() const;
  void trace_back(size_t lag, size_t spent, std::vector<LagGroup>& groups);
  void trace_on(size_t lag, size_t left, std::vector<LagGroup>& groups);

  std::vector<double> rho_;
  size_t states_;  ///< budget + 1
  bool exact_;
  Lags lags_;
  std::function<std::vector<Offer>(int64_t)> offers_;
  std::vector<std::vector<Offer>> useful_;
  std::vector<bool> is_convex_;  ///< by lag, for useful offers
  std::vector<double> rest_;     ///< rest_[i] = Σ_{k > i} ρ_k
  std::vector<Row> before_;      ///< before_[i][s]: lags 1..i, exactly s spent
  std::vector<Row> after_;       ///< after_[i][b]: lags i+1.., with b left for them (to be spent in full if exact)
};

}  // namespace headroom::tasks
