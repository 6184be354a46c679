#pragma once
#include <string>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// −ln p of a target under the softmax of its logits, and true if it is the likeliest class.
struct ClassScore {
  double nats = 0;
  bool is_scored = false, is_correct = false;
};

/// Scores each row in f64: logits (…, V) f32, f64 or bf16, targets i64 (…). Rows of ignore_index get no score. Runs on
/// the logits' device (engine/scoring/class_scores.h) without moving them. Throws Error if the shapes do not fit or a
/// target is outside the classes.
std::vector<ClassScore> score_classes(const Tensor& logits, const Tensor& targets);

/// Cross-entropy (nats) and accuracy over all targets except ignore_index: logits (…, V), targets i64 (…). A non-finite
/// logit makes the cross-entropy non-finite: nothing is dropped.
class ClassMeter : public Meter {
 public:
  /// `accuracy` names the second metric ("accuracy", "masked_accuracy").
  explicit ClassMeter(std::string accuracy = "accuracy") : accuracy_(std::move(accuracy)) {}

  /// Throws Error if the shapes do not fit or a target is outside the classes.
  void add(const Tensor& output, const Batch& batch) override;
  bool adds_on_device() const override { return true; }
  /// Nats, number correct, count.
  std::vector<double> sums() const override;
  Metrics metrics(const std::vector<double>& sums) const override;
  int64_t count() const { return count_; }

 private:
  std::string accuracy_;
  int64_t count_ = 0, correct_ = 0;
  double loss_ = 0;
};

}  // namespace headroom::tasks
