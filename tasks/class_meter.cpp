#include "tasks/class_meter.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::tasks {

std::vector<ClassScore> score_classes(const Tensor& logits_in, const Tensor& targets_in) {
  require(logits_in.numel() == targets_in.numel() * logits_in.dim(-1), "class meter: logits {} do not fit targets {}",
          logits_in.shape().str(), targets_in.shape().str());
  const Tensor logits = logits_in.contiguous(), targets = targets_in.contiguous();  // (…, V), (…)
  const int64_t classes = logits.dim(-1);
  const auto* x = logits.data<float>();
  const auto* target = targets.data<int64_t>();
  std::vector<ClassScore> scores(static_cast<size_t>(targets.numel()));
  engine::parallel_ranges(targets.numel(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (target[i] == ignore_index) continue;
      require(target[i] >= 0 && target[i] < classes, "class meter: target {} is outside the {} classes", target[i],
              classes);
      const float* row = x + i * classes;
      const float* largest = std::max_element(row, row + classes);
      double sum = 0;
      for (int64_t v = 0; v < classes; ++v) sum += std::exp(double{row[v]} - double{*largest});
      scores[static_cast<size_t>(i)] = {std::log(sum) + double{*largest} - double{row[target[i]]}, true,
                                        largest - row == target[i]};
    }
  });
  return scores;
}

void ClassMeter::add(const Tensor& output, const Batch& batch) {
  for (const ClassScore& score : score_classes(output, batch.target)) {
    if (!score.is_scored) continue;
    loss_ += score.nats;
    correct_ += score.is_correct ? 1 : 0;
    ++count_;
  }
}

std::vector<double> ClassMeter::sums() const {
  return {loss_, static_cast<double>(correct_), static_cast<double>(count_)};
}

Metrics ClassMeter::metrics(const std::vector<double>& sums) const {
  const double n = std::max(sums[2], 1.0);
  return {{"cross_entropy", sums[0] / n}, {accuracy_, sums[1] / n}};
}

}  // namespace headroom::tasks
