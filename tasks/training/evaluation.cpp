#include "tasks/training/evaluation.h"

#include <algorithm>
#include <cmath>

#include "engine/dispatch/operand.h"

namespace headroom::tasks {
namespace {

/// The ends of the parts of a set of `sequences`; a small set is a single part.
std::vector<int64_t> ends_of_parts(int64_t sequences) {
  if (sequences < evaluation_parts) return {sequences};
  std::vector<int64_t> ends;
  for (int64_t part = 1; part <= evaluation_parts; ++part) ends.push_back(part * sequences / evaluation_parts);
  return ends;
}

/// A meter's sums at the end of each part → the pseudo-values of its metrics.
std::map<std::string, std::vector<double>> pseudo_values(const Meter& meter,
                                                         const std::vector<std::vector<double>>& sums_at_ends) {
  constexpr auto count = static_cast<double>(evaluation_parts);
  std::map<std::string, std::vector<double>> parts;
  const std::vector<double>& total = sums_at_ends.back();
  const Metrics whole = meter.metrics(total);
  std::vector<double> before(total.size());
  for (const std::vector<double>& after : sums_at_ends) {
    std::vector<double> others(total.size());
    for (size_t i = 0; i < total.size(); ++i) others[i] = total[i] - (after[i] - before[i]);
    for (const auto& [metric, without] : meter.metrics(others))
      parts[metric].push_back(count * whole.at(metric) - (count - 1) * without);
    before = after;
  }
  std::erase_if(parts, [](const auto& values) {
    return !std::all_of(values.second.begin(), values.second.end(), [](double value) { return std::isfinite(value); });
  });
  return parts;
}

}  // namespace

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
  if (ends.size() > 1) evaluation.parts = pseudo_values(*meter, sums_at_ends);
  return evaluation;
}

}  // namespace headroom::tasks
