#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tasks/distillation/student_head.h"
#include "tasks/measure/studied_model.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

/// Distils a trained model's head: trains a smaller head to give the same attention weights (the paper's Algorithm 1
/// and Figure 3).
struct HeadDistillationConfig {
  using Made = class HeadDistillation;
  StudiedModelConfig model{};
  StudiedTextConfig text{.text = "wikitext-2/wiki.valid.tokens"};
  std::string held_out = "wikitext-2/wiki.test.tokens";  ///< the text of held-out sequences
  int64_t layer = 5, head = 0;
  StudentForm form = StudentForm::factored;
  int64_t rank = 16;      ///< d_h
  int64_t length = 1024;  ///< L
  int64_t sequences = 8;  ///< for training, and as many held out: half are spans of a text, half random tokens
  int64_t steps = 1500;   ///< one sequence each, in turn
  double rate = 1e-3;     ///< of Adam
};

/// Throws Error naming the field and what is allowed.
void validate(const HeadDistillationConfig& config);

/// Queries l < early_queries · L count as early.
inline constexpr double early_queries = 0.1;

/// The distance of attention weights from a teacher's, over sequences. e_l is the difference at query l = 1 … L.
struct WeightErrors {
  double mse = 0;             ///< over all pairs of a query and a key it sees, as in the paper
  double late_rms = 0;        ///< √ of the mean of ‖e_l‖² over late queries
  double late_frobenius = 0;  ///< √ of the mean over sequences of Σ ‖e_l‖² over late queries
  double early_share = 0;     ///< the early queries' share of Σ ‖e_l‖²
};
/// Each (L, L), zero above the diagonal.
WeightErrors weight_errors(const std::vector<engine::Tensor>& weights, const std::vector<engine::Tensor>& wanted);

/// A teacher head and its behaviour on sequences.
struct HeadLesson {
  HeadMaps teacher;
  std::vector<engine::Tensor> inputs, weights;    ///< f32 (L, D) and (L, L): its inputs and attention weights
  std::vector<engine::Tensor> held_out, answers;  ///< the same for held-out sequences
  double norm = 0;                                ///< mean of ‖X‖₂ over the inputs
};

/// Trains the student's maps by Adam on Σ_l ‖e_l‖² / L of one sequence per step. This is the squared error over the
/// causal weights, scaled up so that its gradient is not of the size of Adam's ε.
void train_student(const StudentHead& student, const HeadLesson& lesson, int64_t steps, double rate);

/// Metrics: mse, late_rms, late_frobenius, early_share (see WeightErrors) of the trained student; with `_before`, the
/// same after the algorithm's step 1 alone; with `held_out_` in front, both for other sequences; `norm`, the mean of
/// ‖X‖₂. Trials of one process share a layer's inputs.
class HeadDistillation : public ModelMeasurement<HeadDistillationConfig> {
 public:
  HeadDistillation(const HeadDistillationConfig& config, const DataRoots& roots)
      : ModelMeasurement(config, roots), roots_(roots) {}
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::map<std::string, std::string> data_hashes() const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const HeadLesson> lesson(uint64_t seed) const;
  HeadLesson make_lesson(uint64_t seed) const;

  DataRoots roots_;
  mutable std::mutex keeping_;
  mutable std::vector<std::shared_ptr<const HeadLesson>> kept_;  ///< kept alive for others that share them
};

/// The names of its metrics.
std::vector<std::string> head_distillation_metrics();

inline std::set<std::string> metric_names_of(const HeadDistillationConfig&) {
  const std::vector<std::string> names = head_distillation_metrics();
  return {names.begin(), names.end()};
}

}  // namespace headroom::tasks
