#include "tasks/class_meter.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace headroom::tasks {

void ClassMeter::add(const Tensor& output, const Batch& batch) {
  const Tensor logits = output.contiguous();         // (…, V)
  const Tensor targets = batch.target.contiguous();  // (…)
  const int64_t classes = logits.dim(-1);
  require(logits.numel() == targets.numel() * classes, "class meter: logits {} do not fit targets {}",
          logits.shape().str(), targets.shape().str());
  const float* row = logits.data<float>();
  const int64_t* target = targets.data<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i, row += classes) {
    if (target[i] == ignore_index) continue;
    require(target[i] >= 0 && target[i] < classes, "class meter: target {} is outside the {} classes", target[i],
            classes);
    const float top = *std::max_element(row, row + classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - top);
    loss_ += std::log(sum) + top - row[target[i]];
    if (std::max_element(row, row + classes) - row == target[i]) ++correct_;
    ++count_;
  }
}

Metrics ClassMeter::result() const {
  const auto n = static_cast<double>(std::max<int64_t>(count_, 1));
  return {{"cross_entropy", loss_ / n}, {accuracy_, static_cast<double>(correct_) / n}};
}

}  // namespace headroom::tasks
