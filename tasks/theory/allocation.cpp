#include "tasks/theory/allocation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();

void check(const std::vector<double>& rho, int64_t budget, int64_t token_dim) {
  require(!rho.empty(), "allocation: there are no lags");
  for (const double value : rho)
    require(std::isfinite(value) && value >= 0, "allocation: a norm of rho is {}: wants >= 0", value);
  require(budget >= 1 && token_dim >= 1, "allocation: budget {} and token dim {} must be >= 1", budget, token_dim);
}

/// What one lag may be given: `spent` of the budget buys `group`, at `error` per unit of ‖ρ‖.
struct Offer {
  int64_t spent = 0;
  LagGroup group;
  double error = 0;
};

/// Picks one offer per fetched lag so that the objective is smallest, spending at most (`all`: exactly) the budget.
class Search {
 public:
  Search(const std::vector<double>& rho, int64_t budget, bool all, Lags lags)
      : rho_(rho), budget_(budget), all_(all), lags_(lags) {}

  Allocation run(const std::function<std::vector<Offer>(int64_t lag)>& offers) {
    const size_t states = static_cast<size_t>(budget_) + 1;
    std::vector<double> cost(states, unreachable);  // of the lags so far, by budget spent
    cost[0] = 0;
    std::vector<std::vector<Offer>> taken;  // (lag, spent) → the offer that led there; spent = 0: not fetched
    double rest = 0;
    for (const double value : rho_) rest += value;
    Best best{.bound = lags_ == Lags::subset ? rest : unreachable};
    for (size_t i = 0; i < rho_.size(); ++i) {
      std::vector<double> next(states, unreachable);
      std::vector<Offer> how(states);
      if (lags_ == Lags::subset)
        for (size_t spent = 0; spent < states; ++spent) next[spent] = cost[spent] + rho_[i];
      for (const Offer& offer : offers(static_cast<int64_t>(i) + 1)) {
        for (size_t spent = static_cast<size_t>(offer.spent); spent < states; ++spent) {
          const double with = cost[spent - static_cast<size_t>(offer.spent)] + rho_[i] * offer.error;
          if (with < next[spent]) next[spent] = with, how[spent] = offer;
        }
      }
      cost = std::move(next);
      taken.push_back(std::move(how));
      rest -= rho_[i];
      if (lags_ == Lags::prefix || i + 1 == rho_.size()) keep_best(cost, i + 1, std::max(rest, 0.0), best);
    }
    return trace(best, taken);
  }

 private:
  struct Best {
    double bound = unreachable;
    size_t lags = 0, spent = 0;
  };

  void keep_best(const std::vector<double>& cost, size_t lags, double rest, Best& best) const {
    for (size_t spent = all_ ? cost.size() - 1 : 0; spent < cost.size(); ++spent)
      if (cost[spent] + rest < best.bound) best = {cost[spent] + rest, lags, spent};
  }

  Allocation trace(const Best& best, const std::vector<std::vector<Offer>>& taken) const {
    require(std::isfinite(best.bound), "allocation: a budget of {} buys nothing", budget_);
    Allocation out{.bound = best.bound, .groups = {}};
    size_t spent = best.spent;
    for (size_t i = best.lags; i-- > 0;) {
      const Offer& offer = taken[i][spent];
      if (offer.spent == 0) continue;
      out.groups.insert(out.groups.begin(), offer.group);
      spent -= static_cast<size_t>(offer.spent);
    }
    return out;
  }

  const std::vector<double>& rho_;
  int64_t budget_;
  bool all_;
  Lags lags_;
};

}  // namespace

double extraction_error(int64_t lag, double heads) { return 1.3 * std::exp(0.02 * static_cast<double>(lag)) / heads; }

double projection_error(int64_t head_dim, int64_t token_dim) {
  return head_dim < token_dim ? std::sqrt(1 - static_cast<double>(head_dim) / static_cast<double>(token_dim)) : 0;
}

double budget_curve(int64_t width, int64_t token_dim, int64_t heads) {
  require(width >= 1 && token_dim >= 1 && heads >= 1, "budget curve: width {}, token dim {}, heads {} must be >= 1",
          width, token_dim, heads);
  const double kept = static_cast<double>(width) / (static_cast<double>(token_dim) * static_cast<double>(heads));
  return (kept < 1 ? std::sqrt(1 - kept) : 0) + extraction_error(1, static_cast<double>(heads));
}

Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, int64_t token_dim, Lags lags) {
  check(rho, heads, token_dim);
  require(head_dim >= 1, "allocation: head dim {} must be >= 1", head_dim);
  const double lost = projection_error(head_dim, token_dim);
  return Search(rho, heads, true, lags).run([&](int64_t lag) {
    std::vector<Offer> offers;
    for (int64_t h = 1; h <= heads; ++h)
      offers.push_back({h, {lag, h, head_dim}, lost + extraction_error(lag, static_cast<double>(h))});
    return offers;
  });
}

Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim, Lags lags) {
  check(rho, width, token_dim);
  return Search(rho, width, false, lags).run([&](int64_t lag) {
    std::vector<Offer> offers;
    for (int64_t dim = 1; dim <= std::min(width, token_dim); ++dim)
      for (int64_t h = 1; h * dim <= width; ++h)
        offers.push_back(
            {h * dim, {lag, h, dim}, projection_error(dim, token_dim) + extraction_error(lag, static_cast<double>(h))});
    return offers;
  });
}

}  // namespace headroom::tasks
