#include "experiments/run/train/evaluation.h"

#include <algorithm>

namespace headroom::experiments {

Evaluation evaluate(const models::Transformer& model, const tasks::Task& task, const tasks::Batch& set, int64_t batch) {
  const autograd::NoGrad no_grad;
  const std::unique_ptr<tasks::Meter> meter = task.meter();
  Evaluation evaluation;
  const int64_t count = set.input.dim(0);
  for (int64_t begin = 0; begin < count; begin += batch) {
    const tasks::Batch part = set.slice(begin, std::min(count, begin + batch));  // (≤ batch, T, ·)
    const engine::Tensor output = model.forward(part.input, {.key_mask = part.key_mask}).value();
    meter->add(output, part);
    if (evaluation.predictions.empty()) evaluation.predictions = task.predictions(output, part);
  }
  evaluation.metrics = meter->result();
  return evaluation;
}

}  // namespace headroom::experiments
