#include "tasks/compression/budget.h"

#include <cmath>
#include <functional>
#include <limits>

#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::tasks {
namespace {

using testing::error_of;

double total(const std::vector<BudgetItem>& items, const std::vector<size_t>& choices,
             const std::vector<double> BudgetItem::*field) {
  double sum = 0;
  for (size_t i = 0; i < items.size(); ++i) sum += (items[i].*field)[choices[i]];
  return sum;
}

/// The least loss of all splits within the budget, by trying them.
double least_loss(const std::vector<BudgetItem>& items, double budget, size_t from = 0) {
  if (from == items.size()) return budget >= 0 ? 0 : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < items[from].loss.size(); ++i)
    best = std::min(best, items[from].loss[i] + least_loss(items, budget - items[from].cost[i], from + 1));
  return best;
}

BudgetItem convex_item(double first, double ratio) {
  BudgetItem item;
  item.name = "item";
  for (int64_t r = 1; r <= 6; ++r) {
    item.loss.push_back(first * std::pow(ratio, static_cast<double>(r)));
    item.cost.push_back(static_cast<double>(r));
  }
  return item;
}

}  // namespace

TEST_CASE("with convex losses no split is better", "[budget]") {
  const std::vector<BudgetItem> items{convex_item(1, 0.5), convex_item(8, 0.7), convex_item(0.1, 0.9),
                                      convex_item(3, 0.3)};
  for (double budget = 4; budget <= 25; ++budget) {
    const std::vector<size_t> choices = spend_budget(items, budget);
    INFO("budget " << budget);
    CHECK(total(items, choices, &BudgetItem::cost) <= budget);
    CHECK(total(items, choices, &BudgetItem::loss) == Approx(least_loss(items, budget)));
  }
  CHECK(spend_budget(items, 1000) == std::vector<size_t>{5, 5, 5, 5});
  CHECK(spend_budget({}, 3).empty());
}

TEST_CASE("a step that pays only as a whole is taken as a whole", "[budget]") {
  // The first item gains nothing until rank 4; the second little by little.
  const std::vector<BudgetItem> items{{.name = "late", .loss = {9, 9, 9, 0}, .cost = {1, 2, 3, 4}},
                                      {.name = "steady", .loss = {4, 3, 2, 1}, .cost = {1, 2, 3, 4}}};
  CHECK(spend_budget(items, 5) == std::vector<size_t>{3, 0});
  CHECK(spend_budget(items, 6) == std::vector<size_t>{3, 1});
  CHECK(spend_budget(items, 4) == std::vector<size_t>{0, 2});
}

TEST_CASE("random losses stay near the best split, and within the budget", "[budget]") {
  engine::Rng rng(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<BudgetItem> items;
    for (int i = 0; i < 4; ++i) {
      const std::vector<double> draws = engine::random_uniform({10}, 0, 1, rng.take("budget", 10)).to_vector<double>();
      BudgetItem item;
      item.name = "random";
      double loss = 10, cost = 0;
      for (size_t j = 0; j < 5; ++j) {
        loss -= draws[j], cost += 0.2 + draws[5 + j];
        item.loss.push_back(loss), item.cost.push_back(cost);
      }
      items.push_back(item);
    }
    const double budget = 4 + 0.2 * trial;
    const std::vector<size_t> choices = spend_budget(items, budget);
    CHECK(total(items, choices, &BudgetItem::cost) <= budget * (1 + 1e-9));
    // A greedy split loses at most one step of one item to the best.
    CHECK(total(items, choices, &BudgetItem::loss) <= least_loss(items, budget) + 1);
  }
}

TEST_CASE("neighbours are joined so that a row costs least", "[budget]") {
  // The least of all ways to join items from `at` on.
  const std::function<double(const std::vector<double>&, const std::vector<double>&, size_t)> least =
      [&](const std::vector<double>& alone, const std::vector<double>& joined, size_t at) -> double {
    if (at >= alone.size()) return 0;
    const double single = alone[at] + least(alone, joined, at + 1);
    return at < joined.size() ? std::min(single, joined[at] + least(alone, joined, at + 2)) : single;
  };
  engine::Rng rng(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto size = static_cast<size_t>(1 + trial % 8);
    const std::vector<double> draws = engine::random_uniform({16}, 0, 1, rng.take("row", 16)).to_vector<double>();
    const std::vector<double> alone(draws.begin(), draws.begin() + static_cast<int64_t>(size));
    std::vector<double> joined;
    for (size_t i = 1; i < size; ++i) joined.push_back(2 * draws[7 + i]);
    const std::vector<bool> joins = cheapest_joins(alone, joined);
    double cost = 0;
    for (size_t i = 0; i < joins.size(); i += joins[i] ? 2 : 1) cost += joins[i] ? joined[i] : alone[i];
    CHECK(cost == Approx(least(alone, joined, 0)));
    for (size_t i = 1; i < joins.size(); ++i) CHECK(!(joins[i - 1] && joins[i]));
  }
  CHECK(cheapest_joins({1, 1}, {2}) == std::vector<bool>{false, false});
  CHECK(cheapest_joins({1, 1}, {1.9}) == std::vector<bool>{true, false});
  CHECK(cheapest_joins({1, 1}, {}) == std::vector<bool>{false, false});
  CHECK(error_of([] { (void)cheapest_joins({1, 1}, {1, 1}); }) == "budget: 2 pairs of 2 neighbours");
}

TEST_CASE("budgets and items that do not fit are refused", "[budget]") {
  const BudgetItem item = convex_item(1, 0.5);
  CHECK(error_of([&] {
          spend_budget({item, item}, 1.5);
        }) == "budget: 1.5 is below the least that the choices can cost, 2");
  CHECK(error_of([] {
          spend_budget({{.name = "layer 1", .loss = {1}, .cost = {1, 2}}}, 3);
        }) == "budget: layer 1 has 1 losses and 2 costs");
  CHECK(error_of([] {
          spend_budget({{.name = "layer 1", .loss = {1, 0}, .cost = {2, 2}}}, 3);
        }) == "budget: layer 1: costs must rise, 2 is followed by 2");
  CHECK(error_of([&] { spend_budget({item}, std::nan("")); }) == "budget: nan");
}

}  // namespace headroom::tasks
