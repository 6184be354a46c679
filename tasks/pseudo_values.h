#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// The number of parts of a fixed set, to estimate how its metrics would vary on other data.
inline constexpr int64_t evaluation_parts = 16;

/// The ends of K = evaluation_parts consecutive parts of a set of items, equal in size to within one; one end for a set
/// of fewer than K, which is a single part.
std::vector<int64_t> ends_of_parts(int64_t items);

/// Metric → the jackknife's pseudo-values (Tukey, 1958) over parts of a set: K·m − (K − 1)·m₋ₖ, where m₋ₖ is the metric
/// without part k. Their mean estimates the metric, their standard deviation / √K its standard error over such data.
/// `sums_at_ends` are sums over the items up to each part's end, of which `metrics` makes the metrics. None for a
/// single part; a metric with a non-finite pseudo-value has none.
std::map<std::string, std::vector<double>> pseudo_values(
    const std::vector<std::vector<double>>& sums_at_ends,
    const std::function<Metrics(const std::vector<double>&)>& metrics);

}  // namespace headroom::tasks
