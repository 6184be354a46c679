#include "tasks/theory/allocation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "tasks/theory/allocation_search.h"

namespace headroom::tasks {
namespace {

void check(const std::vector<double>& rho) {
  require(!rho.empty(), "allocation: there are no lags");
  bool any = false;
  for (size_t i = 0; i < rho.size(); ++i) {
    require(std::isfinite(rho[i]) && rho[i] >= 0,
            "allocation: the norm of rho at lag {} is {}: expected a finite one >= 0", i + 1, rho[i]);
    any = any || rho[i] > 0;
  }
  require(any, "allocation: every norm of rho is 0: expected one above 0");
}

/// One lag's offers: heads of every number and width up to `widest` that `width` holds, the widest heads first.
std::vector<Offer> groups_within(int64_t lag, int64_t width, int64_t widest, const GroupError& error) {
  std::vector<Offer> offers;
  for (int64_t dim = std::min(width, widest); dim >= 1; --dim)
    for (int64_t h = 1; h * dim <= width; ++h) {
      const LagGroup group{lag, h, dim};
      offers.push_back({h * dim, group, error(group)});
    }
  return offers;
}

AllocationSearch search(const std::vector<double>& rho, int64_t width, int64_t token_dim, const GroupError& error,
                        const AllocationRules& rules) {
  check(rho);
  require(width >= 1, "allocation: the width is {}: expected >= 1", width);
  require(token_dim >= 1, "allocation: the token dim is {}: expected >= 1", token_dim);
  return {rho, width, rules.exact_width, rules.lags,
          [=](int64_t lag) { return groups_within(lag, width, token_dim, error); }};
}

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

void check_ranks(const char* field, const LagRanks& ranks) {
  for (size_t i = 0; i < ranks.ranks.size(); ++i)
    require(ranks.ranks[i] >= 1 && ranks.ranks[i] <= ranks.token_dim, "{}: the rank of lag {} is {}: expected 1 to {}",
            field, i + 1, ranks.ranks[i], ranks.token_dim);
}

GroupError paper_error(const LagRanks& ranks) {
  return [ranks](const LagGroup& group) {
    return projection_error(group.head_dim, ranks.at(group.lag)) +
           extraction_error(group.lag, static_cast<double>(group.heads));
  };
}

GroupError sharper_error(const LagRanks& ranks) {
  return [ranks](const LagGroup& group) {
    const int64_t token_dim = ranks.at(group.lag);
    const double one = extraction_error(group.lag, 1);
    double least = std::numeric_limits<double>::infinity();
    // More sub-groups than cover the token gain nothing; of those with as many heads each, the most keep the most.
    const int64_t most = std::min((token_dim + group.head_dim - 1) / group.head_dim, group.heads);
    for (int64_t q = 1; q <= std::max<int64_t>(most, 1);) {
      const int64_t each = group.heads / q, last = std::min(group.heads / each, std::max<int64_t>(most, 1));
      least = std::min(least, projection_error(std::min(last * group.head_dim, token_dim), token_dim) +
                                  one / static_cast<double>(each));
      q = last + 1;
    }
    return least;
  };
}

Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, const GroupError& error,
                       Lags lags) {
  check(rho);
  require(heads >= 1, "allocation: the number of heads is {}: expected >= 1", heads);
  require(head_dim >= 1, "allocation: the head dim is {}: expected >= 1", head_dim);
  return AllocationSearch(rho, heads, false, lags,
                          [&](int64_t lag) {
                            std::vector<Offer> offers;
                            for (int64_t h = 1; h <= heads; ++h) {
                              const LagGroup group{lag, h, head_dim};
                              offers.push_back({h, group, error(group)});
                            }
                            return offers;
                          })
      .best();
}

Allocation equal_heads(const std::vector<double>& rho, int64_t heads, int64_t head_dim, int64_t token_dim, Lags lags) {
  require(token_dim >= 1, "allocation: the token dim is {}: expected >= 1", token_dim);
  return equal_heads(rho, heads, head_dim, paper_error(token_dim), lags);
}

Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim, const GroupError& error,
                           const AllocationRules& rules) {
  return search(rho, width, token_dim, error, rules).best();
}

Allocation best_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim,
                           const AllocationRules& rules) {
  return best_allocation(rho, width, token_dim, paper_error(token_dim), rules);
}

AllocationReport study_allocation(const std::vector<double>& rho, int64_t width, int64_t token_dim,
                                  const GroupError& error, const AllocationRules& rules) {
  AllocationSearch found = search(rho, width, token_dim, error, rules);
  return {.best = found.best(), .runner_up = found.runner_up(), .cost_of_width = found.cost_of_budget()};
}

}  // namespace headroom::tasks
