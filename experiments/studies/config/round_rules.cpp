#include "experiments/studies/config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_seeds = 1000;
constexpr size_t most_grid_values = 100;
constexpr double closest = 1.05;        ///< neighbours that differ in three digits
constexpr double grid_rounding = 1.01;  ///< three digits are within this factor
constexpr double fine = 2;              ///< neighbours that `refine` leaves alone

/// Three significant digits: 0.00316.
double rounded_value(double x) { return std::stod(fmt::format("{:.2e}", x)); }

Value real_value(double x, const Place& place) {
  Value value;
  value.kind = Value::Kind::real;
  value.real = x;
  value.place = place;
  return value;
}

/// The first grid, and the spacing of its neighbours.
struct WrittenGrid {
  std::vector<Value> values;
  double times = 0;
};

WrittenGrid read_grid_range(Reader& in) {
  WrittenGrid grid;
  const double from = in.real("from", std::nullopt, above(0), "smallest value of the first grid");
  const double to = in.real("to", std::nullopt, above(0), "largest value of the first grid");
  grid.times =
      in.real("times", {std::sqrt(10.0), "the root of 10"}, at_least(closest), "a value over the one before it");
  if (!(from > 0 && to > 0 && grid.times > 1)) return grid;
  const double steps = std::round(std::log(to / from) / std::log(grid.times));
  if (to <= from) {
    in.complain("to", fmt::format("expected more than from = {}, got {}", from, to));
  } else if (steps >= static_cast<double>(most_grid_values)) {
    in.complain("times", fmt::format("gives more than {} values", most_grid_values));
  } else if (const double last = from * std::pow(grid.times, std::max(1.0, steps));
             last > to * grid_rounding || to > last * grid_rounding) {
    in.complain("to", fmt::format("{} is not from = {} times a whole power of times = {:.4g}: the nearest is {:.4g}",
                                  to, from, grid.times, last));
  } else {
    for (double i = 0; i <= steps; ++i) {
      const double value = i == 0 ? from : i == steps ? to : rounded_value(from * std::pow(grid.times, i));
      grid.values.push_back(real_value(value, in.place()));
    }
  }
  return grid;
}

WrittenGrid read_grid_values(Reader& in, bool extends) {
  WrittenGrid grid;
  const std::vector<double> numbers = in.numbers("values", "the values of the first grid, in place of from and to");
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::count(numbers.begin(), numbers.end(), numbers[i]) > 1)
      in.complain("values", fmt::format("{} is given twice", numbers[i]));
    grid.values.push_back(real_value(numbers[i], in.place("values")));
  }
  if (!extends || numbers.empty()) return grid;
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  if (*least > 0 && *most > *least)
    grid.times = std::pow(*most / *least, 1.0 / static_cast<double>(numbers.size() - 1));
  else in.complain("values", "a grid that is to be extended needs at least two values, all above 0");
  if (grid.times > 0 && grid.times < closest)
    in.complain("values",
                fmt::format("are too close to be extended: expected neighbours a factor of {} apart", closest));
  return grid;
}

/// Widens a grid to its limits, by values that rounds may add.
void extend(const WrittenGrid& grid, const std::vector<double>& limits, Reader& in,
            std::vector<SweepAxis::Position>& all) {
  const auto [smallest, largest] = std::minmax_element(
      grid.values.begin(), grid.values.end(), [](const Value& a, const Value& b) { return a.number() < b.number(); });
  const double begin = smallest->number(), end = largest->number();
  const double low = limits.size() == 2 ? limits[0] : begin / 100, high = limits.size() == 2 ? limits[1] : end * 100;
  if (low > begin || high < end)
    in.complain("limits", fmt::format("[{}, {}] leaves out values of the first grid, {} to {}", low, high, begin, end));
  for (double x = begin / grid.times; x * grid_rounding >= low && all.size() < most_grid_values; x /= grid.times)
    all.insert(all.begin(), {{real_value(rounded_value(x), in.place())}, "", true});
  for (double x = end * grid.times; x <= high * grid_rounding && all.size() < most_grid_values; x *= grid.times)
    all.push_back({{real_value(rounded_value(x), in.place())}, "", true});
}

/// Appends the geometric means of neighbours that are more than a factor of two apart.
void refine(Reader& in, std::vector<SweepAxis::Position>& all) {
  std::vector<double> values;
  for (const SweepAxis::Position& position : all) values.push_back(position.values[0].number());
  std::sort(values.begin(), values.end());
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] > 0 && values[i] > fine * grid_rounding * values[i - 1])
      all.push_back({{real_value(rounded_value(std::sqrt(values[i - 1] * values[i])), in.place())}, "", true, true});
  if (all.size() == values.size())
    in.complain("refine", fmt::format("no values above 0 are more than a factor of {} apart", fine));
}

}  // namespace

SeedRule read_seed_rule(const Value& table, Complaints& problems) {
  Reader in(table, "sweep.seed", problems);
  SeedRule rule;
  rule.place = table.place;
  rule.from = in.integer("from", std::nullopt, {.low = 0, .high = 1e15}, "the first seed");
  rule.anytime = in.word("until", std::nullopt, {"decided", "anytime"},
                         "when no more seeds are added: when no claim is undecided, by planned looks at the data or by "
                         "tests that hold at any number of them") == "anytime";
  rule.first = in.integer("first", 3, {.low = 3, .high = most_seeds}, "seeds of the first round");
  rule.at_most = in.integer("at_most", 24, {.low = 3, .high = most_seeds}, "seeds of all rounds together");
  if (rule.at_most < rule.first)
    in.complain("at_most", fmt::format("expected at least first = {}, got {}", rule.first, rule.at_most));
  rule.at_most = std::max(rule.first, rule.at_most);
  in.finish();
  return rule;
}

std::vector<SweepAxis::Position> read_grid(const Value& table, const std::string& path, Complaints& problems) {
  Reader in(table, path, problems);
  const bool extends = in.flag("extend", false, "whether rounds widen it while the best value stands at an end");
  const bool refines = in.flag(
      "refine", false, "whether a round tries the values between the best one and neighbours over twice as far");
  const WrittenGrid grid = in.has("values") ? read_grid_values(in, extends) : read_grid_range(in);
  const std::vector<double> limits = in.numbers("limits", "how far it may be widened");
  if (!limits.empty() && !extends) in.complain("limits", "are of a grid with extend = true");
  if (!limits.empty() && (limits.size() != 2 || limits[0] >= limits[1] || limits[0] <= 0))
    in.complain("limits", "expected two numbers above 0, the smallest value and the largest");
  in.finish();
  std::vector<SweepAxis::Position> all;
  for (const Value& value : grid.values) all.push_back({{value}, ""});
  if (extends && !all.empty() && grid.times >= closest) extend(grid, limits, in, all);
  if (refines && !all.empty()) refine(in, all);
  return all;
}

}  // namespace headroom::experiments
