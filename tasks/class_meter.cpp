#include "tasks/class_meter.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/scoring/class_scores.h"

namespace headroom::tasks {

std::vector<ClassScore> score_classes(const Tensor& logits, const Tensor& targets) {
  require(logits.numel() == targets.numel() * logits.dim(-1), "class meter: logits {} do not fit targets {}",
          logits.shape().str(), targets.shape().str());
  const std::vector<int64_t> target = targets.to_vector<int64_t>();
  for (const int64_t t : target)
    require(t == ignore_index || (t >= 0 && t < logits.dim(-1)), "class meter: target {} is outside the {} classes", t,
            logits.dim(-1));
  const engine::ClassScores found =
      engine::class_scores(logits, targets.reshape(logits.shape().without(-1)).to(logits.device()));
  const std::vector<double> nats = found.nats.to_vector<double>();
  const std::vector<uint8_t> is_likeliest = found.is_likeliest.to_vector<uint8_t>();
  std::vector<ClassScore> scores(target.size());
  for (size_t i = 0; i < target.size(); ++i)
    if (target[i] != ignore_index) scores[i] = {nats[i], true, is_likeliest[i] != 0};
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
