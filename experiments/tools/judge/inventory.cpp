#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/output/wrap.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/tools/judge/judged.h"

namespace headroom::experiments {
namespace {

/// "adamw, sgd", "0.001 to 0.1 (5 values)".
std::string values_text(const std::set<std::string>& values) {
  std::set<double> numbers;
  for (const std::string& value : values)
    if (const auto number = foreign_number(value)) numbers.insert(*number);
  constexpr size_t few = 6;
  if (values.size() > few && numbers.size() == values.size())
    return fmt::format("{} to {} ({} values)", exact(*numbers.begin()), exact(*numbers.rbegin()), numbers.size());
  return some_of({values.begin(), values.end()});
}

/// What is said of a pair of arms: how far apart means would have to be, and the seeds that the usual effect takes.
std::vector<std::string> pair_row(const Analysis& results, const std::string& name, const Curve& a, const Curve& b,
                                  const Point& p, const Point& q, size_t pairs) {
  ClaimConfig claim;
  const auto is_positive = [](const Point& one) {
    return std::all_of(one.values.begin(), one.values.end(), [](const auto& entry) { return entry.second > 0; });
  };
  claim.log_error = is_positive(p) && is_positive(q);
  const Case c{results, claim, a, results.report.x_key};
  Estimate spread = c.combine({{&p, 1}, {&q, -1}}, claim.log_error);
  const double level = claim.significance / static_cast<double>(pairs), effect = standard_effect(b.metric);
  const std::string seeds = fmt::format("{} and {}", p.values.size(), q.values.size());
  if (spread.seeds < 2) return {name, seeds, "nothing: a spread needs at least two seeds", ""};
  if (spread.has_no_spread()) return {name, seeds, "nothing: every seed gives the same value", ""};
  const auto size_text = [&](double size) {
    return claim.log_error ? fmt::format("{} %", rounded(100 * std::expm1(size))) : rounded(size);
  };
  const auto decides = [&](double size) {
    spread.value = size;
    return spread.sides(0, spread.seeds).above <= level;
  };
  double low = 0, high = spread.error();
  while (!decides(high)) high *= 2;
  for (int i = 0; i < 40; ++i) (decides((low + high) / 2) ? high : low) = (low + high) / 2;
  const double usual = claim.log_error ? std::log(effect) : (effect - 1) * std::abs(q.mean);
  if (high <= usual) return {name, seeds, size_text(high), "these are enough"};
  spread.value = usual;
  const auto needed = seeds_to_decide(Hypothesis::at_least(spread, 0), level, 0);
  return {name, seeds, size_text(high), needed ? fmt::format("{} seeds", *needed) : "more than 1,000 seeds"};
}

}  // namespace

std::string inventory(const ForeignRuns& runs, const RunRoles& roles, const JudgedRuns& judged, size_t columns) {
  std::map<std::string, std::set<std::string>> parameters;
  std::map<std::string, std::pair<size_t, std::pair<int64_t, int64_t>>> metrics;  // runs, first and last step
  for (const ForeignRun& run : runs.runs) {
    for (const auto& [name, value] : run.parameters) parameters[name].insert(value);
    for (const auto& [name, values] : run.metrics) {
      if (sort_of_name(name) != ColumnSort::metric && name != roles.metric) continue;
      auto& [runs_with_it, steps] = metrics.try_emplace(name, 0, std::pair(INT64_MAX, 0)).first->second;
      ++runs_with_it;
      steps = {std::min(steps.first, values.begin()->first), std::max(steps.second, values.rbegin()->first)};
    }
  }
  std::string text = counted(std::ssize(runs.runs), "run") + "\n\n";
  std::vector<std::vector<std::string>> rows;
  const auto role = [&](const std::string& name) -> std::string {
    if (name == roles.seed) return "seed";
    if (name == roles.x) return "x";
    if (std::count(roles.series.begin(), roles.series.end(), name) > 0) return "series";
    return std::count(roles.rate.begin(), roles.rate.end(), name) > 0 ? "rate" : "";
  };
  for (const auto& [name, values] : parameters)
    if (values.size() > 1 && name != "file") rows.push_back({excerpt(name), role(name), values_text(values)});
  for (const auto& [name, what] : metrics)
    rows.push_back(
        {excerpt(name),
         name == roles.metric   ? "metric"
         : name == roles.choose ? "choose"
                                : "",
         fmt::format(
             "{} of {} runs{}", what.first, runs.runs.size(),
             what.second.second > 0 ? fmt::format(", steps {} to {}", what.second.first, what.second.second) : "")});
  text += aligned(rows, columns);
  const Analysis results = analyse(judged.results);
  const std::vector<std::string> names = series_names(results);
  rows = {{"arms", "seeds", "could tell a difference of",
           fmt::format("{} % takes", exact(std::round(1e4 * (standard_effect(roles.metric) - 1)) / 100))}};
  std::vector<std::tuple<std::string, const Curve*, const Curve*, const Point*, const Point*>> pairs;
  for (size_t i = 0; i < names.size(); ++i) {
    const Curve& a = results.curve(names[i]);
    for (size_t j = i + 1; j < names.size(); ++j) {
      const Curve& b = results.curve(names[j]);
      for (const Point& p : a.points)
        if (const Point* q = b.at(p.x))
          pairs.emplace_back(fmt::format("{} / {}{}", names[i], names[j],
                                         roles.x.empty() ? "" : fmt::format(" at {} {}", roles.x, exact(p.x))),
                             &a, &b, &p, q);
    }
    if (a.points.size() > 1)
      pairs.emplace_back(fmt::format("{}{} {} / {}", names[i].empty() ? "" : names[i] + ", ", roles.x,
                                     exact(a.points.back().x), exact(a.points.front().x)),
                         &a, &a, &a.points.back(), &a.points.front());
  }
  constexpr size_t most_pairs = 40;
  for (size_t i = 0; i < std::min(pairs.size(), most_pairs); ++i) {
    const auto& [name, a, b, p, q] = pairs[i];
    rows.push_back(pair_row(results, name, *a, *b, *p, *q, pairs.size()));
  }
  if (roles.seed.empty())
    text += "\nNo column is called a seed, so no runs pair; seed = \"COLUMN\" in [runs] says which one it is.\n";
  if (pairs.empty()) return text + "\nNothing varies that could be compared.\n";
  return text + fmt::format("\nWhat these runs could decide about {}, in four of five repetitions:\n{}{}", roles.metric,
                            aligned(rows, columns), pairs.size() > most_pairs ? "…\n" : "");
}

}  // namespace headroom::experiments
