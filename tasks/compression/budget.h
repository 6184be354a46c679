#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::tasks {

/// One place of a model and its choices, such as ranks of a head, from the cheapest to the dearest.
struct BudgetItem {
  std::string name;          ///< for messages: "layer 3, key-value head 1"
  std::vector<double> loss;  ///< of each choice: its sum is minimised
  std::vector<double> cost;  ///< of each: parameters or bytes, rising
};

/// The choice of every item, from 0, that makes Σ loss small with Σ cost ≤ budget: water-filling. Each item climbs the
/// lower convex hull of its (cost, loss), the steepest step of all first, which is the optimum over the hulls at every
/// budget that a step ends at; what the last step leaves over goes to the best single steps that still fit. Ties go to
/// the first item. Throws Error when an item's lists do not fit each other, naming it, and with the least possible cost
/// when the budget is below it.
std::vector<size_t> spend_budget(const std::vector<BudgetItem>& items, double budget);

/// Joins neighbours in a row so that the row costs least: alone[i] is the cost of item i by itself, joined[i] that of i
/// and i + 1 as one; an item is in at most one pair. Returns true at the first of each pair; ties stay alone. Throws
/// Error unless `joined` is empty or one shorter.
std::vector<bool> cheapest_joins(const std::vector<double>& alone, const std::vector<double>& joined);

}  // namespace headroom::tasks
