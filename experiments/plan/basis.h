#pragma once
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// Rows of a table, its heads first.
using Cells = std::vector<std::vector<std::string>>;

/// What a number may be based on, and what that means: theorem, heuristic, fit, guess, count, measured, data sheet.
const std::vector<std::pair<std::string, std::string>>& basis_words();

/// The same as lines of at most `columns` characters; 0: one each.
std::string basis_text(size_t columns = 0);

}  // namespace headroom::experiments
