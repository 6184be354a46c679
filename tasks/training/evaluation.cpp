#include "tasks/training/evaluation.h"

#include <algorithm>

namespace headroom::tasks {

Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch) {
  const autograd::NoGrad no_grad;
  const std::unique_ptr<Meter> meter = task.meter();
  Evaluation evaluation;
  const int64_t count = set.input.dim(0);
  for (int64_t begin = 0; begin < count; begin += batch) {
    const Batch part = set.slice(begin, std::min(count, begin + batch));  // (≤ batch, T, ·)
    const Var there = model.forward(part.input, {.key_mask = part.key_mask});
    const Tensor output = there.value().to(engine::cpu);
    meter->add(output, part);
    if (evaluation.predictions.empty()) evaluation.predictions = task.predictions(output, part);
  }
  evaluation.metrics = meter->result();
  return evaluation;
}

}  // namespace headroom::tasks
