#include "experiments/studies/config/tasks/kernel.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/toml/expression.h"
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

/// A lag that a file may name: a slip there should not ask for gigabytes.
constexpr double last_lag = 1 << 20;

/// ρ(1), ρ(2), … of a CSV file: rows `rho` in order, or rows `s,rho` (what is not named is 0). A first row of words is
/// a heading; empty lines and lines that start with # are skipped. Throws Error "FILE:LINE: …".
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
      require(read_number<double>(cell).has_value(), "{}:{}: \"{}\" is not a number", file, number, excerpt(cell));
    const double lag = columns == 2 ? *read_number<double>(cells[0]) : static_cast<double>(values.size()) + 1;
    require(lag >= 1 && lag <= last_lag && lag == std::floor(lag), "{}:{}: s is {}: expected an integer in 1..{}", file,
            number, lag, last_lag);
    require(values.emplace(static_cast<int64_t>(lag), *read_number<double>(cells.back())).second,
            "{}:{}: s = {} is given twice", file, number, lag);
  }
  require(!values.empty(), "{}: has no values of rho", file);
  std::vector<double> rho(static_cast<size_t>(values.rbegin()->first), 0.0);
  for (const auto& [lag, value] : values) rho[static_cast<size_t>(lag - 1)] = value;
  return rho;
}

std::vector<double> evaluate_kernel(const std::string& expression, double alpha, int64_t last) {
  std::vector<double> values;
  for (int64_t s = 1; s <= last; ++s)
    values.push_back(evaluate(expression, [&](const std::string& name) -> double {
      if (name == "s") return static_cast<double>(s);
      if (name == "alpha") return alpha;
      fail("{} is not s or alpha", excerpt(name));
    }));
  return values;
}

/// Keys that came later: where they are not given, a trial's id is what it was.
void bind_ranks_of_lags(Reader& in, tasks::KernelConfig& kernel) {
  for (const double rank : in.numbers(
           "ranks", "rank of the map of each lag, lag 1 first: that many random directions of a token; else all"))
    if (rank >= 1 && rank == std::floor(rank) && rank <= most) kernel.ranks.push_back(static_cast<int64_t>(rank));
    else in.complain("ranks", fmt::format("{} is no rank: expected whole numbers >= 1", rank));
  const bool has_ranks = in.has("ranks");
  if (!has_ranks) in.leave_out("ranks");
  in.when(has_ranks, "with ranks",
          [&] { in.set("rank_seed", kernel.rank_seed, {.low = 0, .high = most}, "draws the directions"); });
}

}  // namespace

tasks::KernelConfig bind_kernel(Reader& in, int64_t last) {
  tasks::KernelConfig kernel;
  const std::string kind =
      in.word("kind", "n-gram", {"n-gram", "exponential", "polynomial", "delta", "airy", "expression", "file"},
              "shape of rho(s), s = 1, 2, ...");
  in.when(kind == "n-gram", "with kind = \"n-gram\"", [&] {
    in.set("n", kernel.n, count, "rho(s) = 1 for s = 1..n");
    if (kernel.n > last) in.complain("n", fmt::format("{} is beyond the longest lag of the task, {}", kernel.n, last));
  });
  const bool has_measurement = kind != "n-gram" && kind != "file";
  in.when(has_measurement, "with a kind that is a formula", [&] {
    in.set("alpha", kernel.alpha, {},
           "e^(-alpha s), (1 + s)^-alpha, 1 at s = alpha, Ai(s - alpha), or alpha in the expression");
  });
  kernel.kind = kind == "expression" || kind == "file" ? "list" : kind;
  in.when(kind == "expression", "with kind = \"expression\"", [&] {
    const std::string text = in.text("rho", std::nullopt, "rho as an expression in s (and alpha), by muParser");
    if (in.has("rho")) in.attempt("rho", [&] { kernel.values = evaluate_kernel(text, kernel.alpha, last); });
  });
  in.when(kind == "file", "with kind = \"file\"", [&] {
    const std::string file = in.text("file", std::nullopt, "CSV of rho: rows `rho` or `s,rho`, beside the study file");
    if (in.has("file")) in.attempt("file", [&] { kernel.values = read_kernel_file(beside(in.place("file"), file)); });
    in.leave_out("file");
    in.note("values", fmt::format("{}", fmt::join(kernel.values, " ")));
  });
  bind_ranks_of_lags(in, kernel);
  in.attempt(kind == "expression" ? "rho"
             : has_measurement    ? "alpha"
                                  : "kind",
             [&] {
               const bool is_complete = kernel.kind != "list" || !kernel.values.empty();
               if (is_complete && tasks::kernel_values(kernel, last).empty())
                 fail("rho(s) is 0 for every s in 1..{}", last);
             });
  return kernel;
}

tasks::KernelConfig kernel_of(const TaskJson& table) {
  tasks::KernelConfig kernel;
  kernel.kind = task_value(table, "kind");
  kernel.n = static_cast<int64_t>(task_number(table, "n", static_cast<double>(kernel.n)));
  kernel.alpha = task_number(table, "alpha", kernel.alpha);
  return kernel;
}

}  // namespace headroom::experiments
