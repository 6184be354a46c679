#pragma once
#include <string>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// −ln p of one target under the softmax of its logits, and whether it is the most likely class.
struct ClassScore {
  double nats = 0;
  bool is_scored = false, is_correct = false;
};

/// logits (…, V) f32, f64 or bf16, targets i64 (…) → one score a row, in f64. Rows of ignore_index are not scored. The
/// logits are scored on their device (engine/scoring/class_scores.h) and are not moved. Throws Error when the shapes do
/// not fit, or for a target outside the classes.
std::vector<ClassScore> score_classes(const Tensor& logits, const Tensor& targets);

/// Cross-entropy (nats) and accuracy over every target that is not ignore_index: logits (…, V), targets i64 (…).
/// A logit that is not finite makes the cross-entropy not finite: nothing is dropped.
class ClassMeter : public Meter {
 public:
  /// `accuracy` names the second metric ("accuracy", "masked_accuracy").
  explicit ClassMeter(std::string accuracy = "accuracy") : accuracy_(std::move(accuracy)) {}

  /// Throws Error when the shapes do not fit, or for a target outside the classes.
  void add(const Tensor& output, const Batch& batch) override;
  bool adds_on_device() const override { return true; }
  /// Nats, correct ones, how many.
  std::vector<double> sums() const override;
  Metrics metrics(const std::vector<double>& sums) const override;
  int64_t count() const { return count_; }

 private:
  std::string accuracy_;
  int64_t count_ = 0, correct_ = 0;
  double loss_ = 0;
};

}  // namespace headroom::tasks
