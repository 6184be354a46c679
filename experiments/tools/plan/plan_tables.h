#pragma once
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// Rows of a table, its heads first.
using Cells = std::vector<std::vector<std::string>>;

/// A table of a plan, which the terminal and the page print.
struct PlanTable {
  std::string name;       ///< on the page
  std::string heading{};  ///< the line above it on a terminal; "" for none
  Cells cells{};
  std::string note{};  ///< below it on the page
};

/// Tables for a terminal, a blank line before each; no line is wider than `columns` characters where that is not 0.
std::string tables_text(const std::vector<PlanTable>& tables, size_t columns);

/// What a number may be based on, and what that means: theorem, heuristic and fit of allocations; guess, count, lower
/// bound, measured, data sheet.
std::vector<std::pair<std::string, std::string>> basis_words(bool has_allocation);

/// The same as lines of at most `columns` characters; 0: one each.
std::string basis_text(bool has_allocation, size_t columns = 0);

}  // namespace headroom::experiments
