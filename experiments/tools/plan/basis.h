#pragma once
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// Rows of a table, its heads first.
using Cells = std::vector<std::vector<std::string>>;

/// What a number may be based on, and what that means: theorem, heuristic and fit of allocations; guess, count, lower
/// bound, measured, data sheet.
std::vector<std::pair<std::string, std::string>> basis_words(bool has_allocation);

/// The same as lines of at most `columns` characters; 0: one each.
std::string basis_text(bool has_allocation, size_t columns = 0);

}  // namespace headroom::experiments
