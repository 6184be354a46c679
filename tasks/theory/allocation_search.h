#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// What one lag may be given: `spent` of the budget buys `group`, at `error` per unit of ‖ρ‖.
struct Offer {
  int64_t spent = 0;
  LagGroup group;
  double error = 0;
};

/// Picks at most one offer per lag so that Σ_picked ρ·error + Σ_others ρ is smallest, spending at most (`exact`: all
/// of) the budget: min-plus dynamic programming over (lag, spent), exact. Cells of one lag are worked on in parallel;
/// their values depend on no order.
class AllocationSearch {
 public:
  /// `offers(lag)`: every offer of a lag, in any order, spending >= 1 each. Throws Error when lags times budget exceed
  /// 2^27: their tables would not fit into a gigabyte.
  AllocationSearch(const std::vector<double>& rho, int64_t budget, bool exact, Lags lags,
                   std::function<std::vector<Offer>(int64_t lag)> offers);

  /// Throws Error when no choice spends what must be spent.
  Allocation best();
  /// The cheapest choice that differs from best() at a lag with ρ > 0.
  std::optional<Allocation> runner_up();
  /// The smallest cost by budget 0..budget.
  std::vector<double> cost_of_budget();

 private:
  using Row = std::vector<double>;
  struct End {  ///< of a cheapest choice: after `lags` lags, `spent` is spent
    double cost;
    size_t lags, spent;
  };

  double rho(size_t lag) const { return rho_[lag - 1]; }
  bool drops_any() const { return lags_ == Lags::subset; }
  /// The offers of a lag that no other offer beats.
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
  std::vector<bool> is_convex_;  ///< by lag, once useful
  std::vector<double> rest_;     ///< rest_[i] = Σ_{k > i} ρ_k
  std::vector<Row> before_;      ///< before_[i][s]: lags 1..i, exactly s spent
  std::vector<Row> after_;       ///< after_[i][b]: lags i+1.., b left for them (to be spent whole when exact)
};

}  // namespace headroom::tasks
