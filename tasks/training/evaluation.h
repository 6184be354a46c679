#pragma once
#include <utility>
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

struct Evaluation {
  Metrics metrics;
  std::vector<std::pair<double, double>> predictions;  ///< (target, output), of the first part that has any
};

/// A model on a fixed set, without dropout and without touching any random stream; in parts of `batch` sequences, so
/// that no more memory is needed than in training.
Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch);

}  // namespace headroom::tasks
