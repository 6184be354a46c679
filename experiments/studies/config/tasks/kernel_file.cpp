#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/config/tasks/kernel.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

/// The cells of a row without the blanks around them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line);
  std::string cell;
  while (std::getline(row, cell, ',')) {
    const size_t begin = cell.find_first_not_of(" \t\r"), end = cell.find_last_not_of(" \t\r");
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  if (line.ends_with(',')) cells.emplace_back();  // getline leaves the last empty cell out
  return cells;
}

/// A name, not a number that went wrong: "1;2", "nan" and "1e999" are none.
bool is_name(const std::string& cell) {
  const bool is_letter = !cell.empty() && (std::isalpha(static_cast<unsigned char>(cell[0])) || cell[0] == '"');
  return is_letter && cell != "nan" && cell != "inf";
}

std::optional<double> number_of(const std::string& cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// A lag that a file may name: a slip there should not ask for gigabytes.
constexpr double last_lag = 1 << 20;

}  // namespace

std::vector<double> read_kernel_file(const std::string& file) {
  std::istringstream in(models::read_file(file, {"kernel file (CSV)", uint64_t{1} << 26}));
  std::map<int64_t, double> values;
  size_t columns = 0;
  int number = 0;
  bool may_be_heading = true;
  for (std::string line; std::getline(in, line);) {
    if (++number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    const std::vector<std::string> cells = cells_of(line);
    if (line.starts_with("#") || cells.empty() || (cells.size() == 1 && cells[0].empty())) continue;
    const bool is_heading = may_be_heading && is_name(cells[0]);
    may_be_heading = false;
    if (columns == 0) columns = cells.size();
    require(columns <= 2 && cells.size() == columns, "{}:{}: expected rows `rho` or `s,rho`, {} cells, got {}", file,
            number, columns > 2 ? "1 or 2" : fmt::format("{}", columns), cells.size());
    if (is_heading) continue;
    for (const std::string& cell : cells)
      require(number_of(cell).has_value(), "{}:{}: \"{}\" is not a number", file, number, excerpt(cell));
    const double lag = columns == 2 ? *number_of(cells[0]) : static_cast<double>(values.size()) + 1;
    require(lag >= 1 && lag <= last_lag && lag == std::floor(lag), "{}:{}: s is {}: expected an integer in 1..{}", file,
            number, lag, last_lag);
    require(values.emplace(static_cast<int64_t>(lag), *number_of(cells.back())).second, "{}:{}: s = {} is given twice",
            file, number, lag);
  }
  require(!values.empty(), "{}: has no values of rho", file);
  std::vector<double> rho(static_cast<size_t>(values.rbegin()->first), 0.0);
  for (const auto& [lag, value] : values) rho[static_cast<size_t>(lag - 1)] = value;
  return rho;
}

}  // namespace headroom::experiments
