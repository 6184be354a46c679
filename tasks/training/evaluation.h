#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

struct Evaluation {
  Metrics metrics;
  std::vector<std::pair<double, double>> predictions;  ///< (target, output), of the first part that has any
  /// Metric → pseudo_values() over K consecutive parts of the set. Empty for fewer than K sequences.
  std::map<std::string, std::vector<double>> parts;
};

/// Evaluates a model on a fixed set, without dropout or random streams; in parts of `batch` sequences, so that it needs
/// no more memory than training. Each sequence goes through the model once. Asks `goes_on`, if given, before each part;
/// once it says no, the result is empty.
Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch,
                    const std::function<bool()>& goes_on = {});

}  // namespace headroom::tasks
