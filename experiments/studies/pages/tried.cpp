#include "experiments/studies/pages/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/tried.h"

namespace headroom::experiments {
namespace {

std::string tried_cell(const std::map<int64_t, double>& metrics, const std::set<int64_t>& seeds, MeanKind kind) {
  std::vector<double> values;
  for (const int64_t seed : seeds) values.push_back(metrics.at(seed));
  const bool has_failed = std::any_of(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  return values.empty() ? "" : has_failed ? "failed" : rounded(mean(values, kind));
}

}  // namespace

Blocks tried_choices(const Analysis& r) {
  const std::string key = choice_key(r), name = last_part(key);
  if (key.empty()) return {};
  const bool has_names = !series_names(r)[0].empty();
  std::set<double> values;
  std::vector<std::pair<std::vector<std::string>, std::map<double, Phrase>>> found;  // names and cells of a row
  for (const std::string& series : series_names(r)) {
    const Curve& chosen = r.curve(series);
    for (const auto& [x, tried] : tried_by_x(r, series, key)) {
      if (tried.size() < 2) continue;
      const std::set<int64_t> seeds = common_seeds(tried);
      auto& [names, cells] = found.emplace_back();
      if (has_names) names.push_back(series);
      names.push_back(exact(x));
      for (const auto& [value, metrics] : tried) {
        values.insert(value);
        const bool is_chosen = chosen.at(x)->choice.at(key) == value;
        cells[value] = {{.text = tried_cell(metrics, seeds, chosen.kind), .is_strong = is_chosen}};
      }
    }
  }
  if (found.empty()) return {};
  std::vector<std::string> head;
  if (has_names) head.emplace_back("series");
  head.push_back(last_part(r.report.x_key));
  for (const double value : values) head.push_back(exact(value));
  std::vector<std::vector<Phrase>> rows;
  for (auto& [names, cells] : found) {
    rows.push_back(text_cells(names));
    for (const double value : values) rows.back().push_back(cells[value]);  // empty where it was not tried
  }
  const std::string summary = fmt::format("Validation at every {}: {}", name, r.report.y_label);
  return {fold(summary, {paragraph(fmt::format(
                             "A column per {0}; the chosen one is bold. Means over the seeds that were trained "
                             "at every {0} of a row.",
                             name)),
                         table(summary, head, std::move(rows))})};
}

}  // namespace headroom::experiments
