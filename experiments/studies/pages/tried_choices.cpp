#include "experiments/studies/pages/tried_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/tried.h"

namespace headroom::experiments {
namespace {

std::string cell(const std::map<int64_t, double>& metrics, const std::set<int64_t>& seeds, MeanKind kind) {
  std::vector<double> values;
  for (const int64_t seed : seeds) values.push_back(metrics.at(seed));
  const bool has_failed = std::any_of(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  return values.empty() ? "" : has_failed ? "failed" : rounded(mean(values, kind));
}

}  // namespace

Blocks tried_choices(const StudyResults& r) {
  const std::string key = choice_key(r);
  if (key.empty()) return {};
  std::set<double> values;
  std::vector<std::pair<std::vector<std::string>, std::map<double, Phrase>>> found;  // names and cells of a row
  for (const std::string& series : series_names(r)) {
    const Curve chosen = curve(r, series);
    for (const auto& [x, tried] : tried_by_x(r, series, key)) {
      if (tried.size() < 2) continue;
      const std::set<int64_t> seeds = common_seeds(tried);
      std::map<double, Phrase> cells;
      for (const auto& [value, metrics] : tried) {
        values.insert(value);
        const bool is_chosen = chosen.at(x)->choice.at(key) == value;
        cells[value] = {{.text = cell(metrics, seeds, chosen.kind), .is_strong = is_chosen}};
      }
      found.push_back({{series, exact(x)}, std::move(cells)});
    }
  }
  if (found.empty()) return {};
  const bool has_names = std::any_of(found.begin(), found.end(), [](const auto& row) { return !row.first[0].empty(); });
  std::vector<std::string> head{has_names ? "series" : "", last_part(r.report.x_key)};
  for (const double value : values) head.push_back(exact(value));
  std::vector<std::vector<Phrase>> rows;
  for (const auto& [names, cells] : found) {
    std::vector<Phrase>& row = rows.emplace_back(text_cells(names));
    for (const double value : values) {
      const auto at = cells.find(value);
      row.push_back(at == cells.end() ? Phrase{} : at->second);
    }
  }
  if (!has_names) {
    head.erase(head.begin());
    for (auto& row : rows) row.erase(row.begin());
  }
  const std::string name = last_part(key),
                    summary = fmt::format("What validation said of every {}: {}", name, r.report.y_label);
  return {fold(summary, {paragraph(fmt::format(
                             "A column per {0}; the chosen one is bold. Means over the seeds that were trained "
                             "at every {0} of a row.",
                             name)),
                         table(summary, head, std::move(rows))})};
}

}  // namespace headroom::experiments
