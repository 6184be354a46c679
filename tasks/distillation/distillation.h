#pragma once
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Weights of a student's training terms; 0 leaves a term out.
struct DistillationWeights {
  double cross_entropy = 0;  ///< the data's own loss, against its labels
  double kl = 0;             ///< divergence of the student's logits from the teacher's
  double hidden = 0;         ///< squared distance of hidden states
  double attention = 0;      ///< squared distance of attention weights
};

/// The hidden states to compare.
enum class HiddenStates {
  last,  ///< the final norm's output, which the readout reads
  all,   ///< the residual stream after every layer, and the final norm's output
};

struct DistillationConfig {
  DistillationWeights weights;
  HiddenStates hidden = HiddenStates::last;
  std::vector<int64_t> attention_layers{};  ///< layers whose attention weights are compared
};

/// Throws Error naming the field and what is allowed.
void validate(const DistillationConfig& config);

/// The unweighted terms of a distillation; undefined if the weight is 0.
struct DistillationTerms {
  Var cross_entropy, kl, hidden, attention;
  Var total;  ///< the weighted sum, to differentiate
};

/// Trains a student to imitate a teacher (Hinton et al., 2015; Romero et al., "FitNets", 2015) on another objective's
/// batches:
///
///   total = w_ce · loss + w_kl · KL(teacher ‖ student) + w_h · hidden + w_a · attention
///
/// - KL: of the logits at temperature 1, mean over the scored positions (targets that are not ignored), in nats.
/// - hidden: Σ (h - h_teacher)² / Σ h_teacher² over positions that the key mask keeps; for `all`, the mean over states.
///   With this divisor a student that outputs zeros scores 1, whatever the teacher's scale.
/// - attention: Σ (a - a_teacher)² / (B·H·pairs), over pairs of a query and a key it may see; mean over the layers. The
///   student's layer gets the teacher's input, so each layer is fitted alone (the paper's Algorithm 1).
///
/// The teacher runs once per batch, without gradient or dropout. Student and teacher agree in width, layers, heads and
/// outputs; the student may have its own heads and ranks inside a layer. The teacher and the data must outlive it.
class Distillation : public Objective {
 public:
  /// Throws Error if the config is invalid or names a layer that the teacher lacks.
  Distillation(const models::Transformer& teacher, const Objective& data, DistillationConfig config);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    return data_.train_batch(step, sequences, rng);
  }
  /// The data's own loss; the distillation terms need more than the output.
  Var loss(const Var& output, const Batch& batch) const override { return data_.loss(output, batch); }
  /// terms().total
  Var loss_of(const models::Transformer& student, const Batch& batch,
              const models::ForwardContext& context) const override;
  /// The separate terms. Throws Error naming both shapes if the models' states or outputs differ.
  DistillationTerms terms(const models::Transformer& student, const Batch& batch,
                          const models::ForwardContext& context) const;

 private:
  const models::Transformer& teacher_;
  const Objective& data_;
  DistillationConfig config_;
};

}  // namespace headroom::tasks
