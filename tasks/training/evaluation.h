#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Parts that a fixed set is cut into, to tell how far its metrics would be off on other data.
inline constexpr int64_t evaluation_parts = 16;

struct Evaluation {
  Metrics metrics;
  std::vector<std::pair<double, double>> predictions;  ///< (target, output), of the first part that has any
  /// Metric → the jackknife's pseudo-values (Tukey, 1958), one for each of K = evaluation_parts consecutive parts of
  /// the set, equal to within a sequence: K·m − (K − 1)·m₋ₖ, where m₋ₖ is the metric without part k. Their mean
  /// estimates the metric, their standard deviation / √K its standard error over data like these. Empty for a set of
  /// fewer than K sequences; a metric whose pseudo-values are not all finite has none.
  std::map<std::string, std::vector<double>> parts;
};

/// A model on a fixed set, without dropout and without touching any random stream; in parts of `batch` sequences, so
/// that no more memory is needed than in training. Each sequence goes through the model once. `goes_on`, where there is
/// one, is asked before each part; once it says no, the result is empty.
Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch,
                    const std::function<bool()>& goes_on = {});

}  // namespace headroom::tasks
