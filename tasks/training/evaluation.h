#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// The number of parts of a fixed set, to estimate how its metrics would vary on other data.
inline constexpr int64_t evaluation_parts = 16;

struct Evaluation {
  Metrics metrics;
  std::vector<std::pair<double, double>> predictions;  ///< (target, output), of the first part that has any
  /// Metric → the jackknife's pseudo-values (Tukey, 1958), one for each of K = evaluation_parts consecutive parts of
  /// the set, equal in size to within a sequence: K·m − (K − 1)·m₋ₖ, where m₋ₖ is the metric without part k. Their mean
  /// estimates the metric, their standard deviation / √K its standard error over such data. Empty for fewer than K
  /// sequences; a metric with a non-finite pseudo-value has none.
  std::map<std::string, std::vector<double>> parts;
};

/// Evaluates a model on a fixed set, without dropout or random streams; in parts of `batch` sequences, so that it needs
/// no more memory than training. Each sequence goes through the model once. Asks `goes_on`, if given, before each part;
/// once it says no, the result is empty.
Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch,
                    const std::function<bool()>& goes_on = {});

}  // namespace headroom::tasks
