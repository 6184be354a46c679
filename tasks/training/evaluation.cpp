#include "tasks/training/evaluation.h"

#include <algorithm>

#include "engine/dispatch/operand.h"
#include "tasks/pseudo_values.h"

namespace headroom::tasks {
Evaluation evaluate(const models::Transformer& model, const Task& task, const Batch& set, int64_t batch,
                    const std::function<bool()>& goes_on) {
  const autograd::NoGrad no_grad;
  const std::unique_ptr<Meter> meter = task.meter();
  Evaluation evaluation;
  const int64_t count = set.input.dim(0);
  const std::vector<int64_t> ends = ends_of_parts(count);
  std::vector<std::vector<double>> sums_at_ends;
  for (int64_t begin = 0; begin < count; begin += batch) {
    if (goes_on && !goes_on()) return {};
    const int64_t end = std::min(count, begin + batch);
    const Batch part = set.slice(begin, end);  // (≤ batch, T, ·)
    Tensor output = model.forward(part.input, {.key_mask = part.key_mask}).value();
    if (!meter->adds_on_device()) output = output.to(engine::cpu).to(engine::statistic_dtype(output.dtype()));
    for (int64_t at = begin, next = 0; at < end; at = next) {
      const int64_t part_end = ends[sums_at_ends.size()];
      next = std::min(end, part_end);
      meter->add(output.slice(0, at - begin, next - begin), part.slice(at - begin, next - begin));
      if (next == part_end) sums_at_ends.push_back(meter->sums());
    }
    if (evaluation.predictions.empty()) evaluation.predictions = task.predictions(output, part);
  }
  evaluation.metrics = meter->result();
  evaluation.parts = pseudo_values(sums_at_ends, [&](const auto& sums) { return meter->metrics(sums); });
  return evaluation;
}

}  // namespace headroom::tasks
