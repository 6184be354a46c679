#include "tasks/pseudo_values.h"

#include <algorithm>
#include <cmath>

namespace headroom::tasks {

std::vector<int64_t> ends_of_parts(int64_t items) {
  if (items < evaluation_parts) return {items};
  std::vector<int64_t> ends;
  for (int64_t part = 1; part <= evaluation_parts; ++part) ends.push_back(part * items / evaluation_parts);
  return ends;
}

std::map<std::string, std::vector<double>> pseudo_values(
    const std::vector<std::vector<double>>& sums_at_ends,
    const std::function<Metrics(const std::vector<double>&)>& metrics) {
  std::map<std::string, std::vector<double>> parts;
  if (sums_at_ends.size() < 2) return parts;
  const auto count = static_cast<double>(sums_at_ends.size());
  const std::vector<double>& total = sums_at_ends.back();
  const Metrics whole = metrics(total);
  std::vector<double> before(total.size());
  for (const std::vector<double>& after : sums_at_ends) {
    std::vector<double> others(total.size());
    for (size_t i = 0; i < total.size(); ++i) others[i] = total[i] - (after[i] - before[i]);
    for (const auto& [metric, without] : metrics(others))
      parts[metric].push_back(count * whole.at(metric) - (count - 1) * without);
    before = after;
  }
  std::erase_if(parts, [](const auto& values) {
    return !std::all_of(values.second.begin(), values.second.end(), [](double value) { return std::isfinite(value); });
  });
  return parts;
}

}  // namespace headroom::tasks
