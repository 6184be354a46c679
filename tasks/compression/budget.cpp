#include "tasks/compression/budget.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

void check(const BudgetItem& item) {
  require(!item.loss.empty() && item.cost.size() == item.loss.size(), "budget: {} has {} losses and {} costs",
          item.name, item.loss.size(), item.cost.size());
  for (size_t i = 0; i < item.loss.size(); ++i) {
    require(std::isfinite(item.loss[i]) && std::isfinite(item.cost[i]), "budget: {}, choice {}: loss {}, cost {}",
            item.name, i, item.loss[i], item.cost[i]);
    require(i == 0 || item.cost[i] > item.cost[i - 1], "budget: {}: costs must rise, {} is followed by {}", item.name,
            item.cost[i == 0 ? 0 : i - 1], item.cost[i]);
  }
}

/// What each unit of cost between two choices of an item takes off its loss.
double slope(const BudgetItem& item, size_t from, size_t to) {
  return (item.loss[from] - item.loss[to]) / (item.cost[to] - item.cost[from]);
}

/// The choices on the lower convex hull of (cost, loss), from the cheapest to the one of least loss.
std::vector<size_t> hull_of(const BudgetItem& item) {
  std::vector<size_t> hull{0};
  for (size_t next = 1; next < item.loss.size(); ++next) {
    if (item.loss[next] >= item.loss[hull.back()]) continue;
    while (hull.size() > 1 && slope(item, hull[hull.size() - 2], hull.back()) <= slope(item, hull.back(), next))
      hull.pop_back();
    hull.push_back(next);
  }
  return hull;
}

/// An item on its way up its hull.
struct Climb {
  const BudgetItem* item;
  std::vector<size_t> hull;
  size_t at = 0;  ///< place in the hull
  size_t choice() const { return hull[at]; }
};

/// The steepest next step of all climbs that costs at most `left`; none where there is none.
std::optional<size_t> steepest(const std::vector<Climb>& climbs, double left) {
  std::optional<size_t> best;
  double best_slope = 0;
  for (size_t i = 0; i < climbs.size(); ++i) {
    const Climb& climb = climbs[i];
    if (climb.at + 1 == climb.hull.size()) continue;
    const size_t from = climb.choice(), to = climb.hull[climb.at + 1];
    const double gain = slope(*climb.item, from, to);
    if (climb.item->cost[to] - climb.item->cost[from] > left || gain <= best_slope) continue;
    best = i, best_slope = gain;
  }
  return best;
}

}  // namespace

std::vector<size_t> spend_budget(const std::vector<BudgetItem>& items, double budget) {
  require(std::isfinite(budget), "budget: {}", budget);
  std::vector<Climb> climbs;
  double left = budget, least = 0;
  for (const BudgetItem& item : items) {
    check(item);
    climbs.push_back({&item, hull_of(item)});
    left -= item.cost[0], least += item.cost[0];
  }
  // A sum of many costs may miss a budget that was summed in another order.
  const double slack = 1e-9 * std::abs(budget);
  require(left >= -slack, "budget: {:.6g} is below the least that the choices can cost, {:.6g}", budget, least);
  left += slack;
  while (const std::optional<size_t> next = steepest(climbs, left)) {
    Climb& climb = climbs[*next];
    const size_t from = climb.choice();
    ++climb.at;
    left -= climb.item->cost[climb.choice()] - climb.item->cost[from];
  }
  std::vector<size_t> choices;
  for (const Climb& climb : climbs) {
    // Choices between two corners of the hull, for what is left over.
    size_t choice = climb.choice();
    for (size_t i = choice + 1; i < climb.item->loss.size(); ++i) {
      const double more = climb.item->cost[i] - climb.item->cost[choice];
      if (more > left || climb.item->loss[i] >= climb.item->loss[choice]) continue;
      left -= more, choice = i;
    }
    choices.push_back(choice);
  }
  return choices;
}

std::vector<bool> cheapest_joins(const std::vector<double>& alone, const std::vector<double>& joined) {
  require(joined.empty() || joined.size() + 1 == alone.size(), "budget: {} pairs of {} neighbours", joined.size(),
          alone.size());
  std::vector<double> rest(alone.size() + 2, 0.0);  // what items i, i + 1, … cost at least
  std::vector<bool> joins(alone.size(), false);
  for (size_t i = alone.size(); i-- > 0;) {
    rest[i] = alone[i] + rest[i + 1];
    if (i >= joined.size() || joined[i] + rest[i + 2] >= rest[i]) continue;
    rest[i] = joined[i] + rest[i + 2];
    joins[i] = true;
  }
  for (size_t i = 0; i < joins.size(); ++i)
    if (joins[i]) joins[++i] = false;  // of overlapping pairs the first is what rest[] counts
  return joins;
}

}  // namespace headroom::tasks
