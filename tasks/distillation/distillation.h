#pragma once
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Weights of what a student is trained on; 0 leaves a term out.
struct DistillationWeights {
  double cross_entropy = 0;  ///< the data's own loss, against its labels
  double kl = 0;             ///< divergence of the student's logits from the teacher's
  double hidden = 0;         ///< squared distance of hidden states
  double attention = 0;      ///< squared distance of attention weights
};

/// Which hidden states are compared.
enum class HiddenStates {
  last,  ///< the final norm's output, which the readout is given
  all,   ///< the residual stream after every layer, and that
};

struct DistillationConfig {
  DistillationWeights weights;
  HiddenStates hidden = HiddenStates::last;
  std::vector<int64_t> attention_layers{};  ///< whose attention weights are compared
};

/// Throws Error naming the field and what is allowed.
void validate(const DistillationConfig& config);

/// What the parts of a distillation come to, before their weights; undefined where the weight is 0.
struct DistillationTerms {
  Var cross_entropy, kl, hidden, attention;
  Var total;  ///< the weighted sum: what is differentiated
};

/// Trains a student to do as a teacher does (Hinton et al., 2015; Romero et al., "FitNets", 2015), on another
/// objective's batches:
///
///   total = w_ce · loss + w_kl · KL(teacher ‖ student) + w_h · hidden + w_a · attention
///
/// - KL: of the logits at temperature 1, mean over the scored positions (targets that are not ignored), in nats.
/// - hidden: Σ (h - h_teacher)² / Σ h_teacher² over the positions that the key mask keeps; of `all` states the mean of
///   that. Divided so, a student that gives zeros scores 1, whatever the teacher's scale.
/// - attention: Σ (a - a_teacher)² / (B·H·pairs), pairs of a query and a key that it may see; mean over the layers. The
///   student's layer is given what the teacher's is, so that each layer is fitted alone (the paper's Algorithm 1).
///
/// The teacher runs once for a batch, without gradient and without dropout. Student and teacher agree in width, layers,
/// heads and outputs; heads and ranks inside a layer are the student's own. The teacher and the data must outlive it.
class Distillation : public Objective {
 public:
  /// Throws Error when the config is invalid, or names a layer that the teacher lacks.
  Distillation(const models::Transformer& teacher, const Objective& data, DistillationConfig config);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    return data_.train_batch(step, sequences, rng);
  }
  /// The data's own loss: what there is to say of an output alone.
  Var loss(const Var& output, const Batch& batch) const override { return data_.loss(output, batch); }
  /// terms().total
  Var loss_of(const models::Transformer& student, const Batch& batch,
              const models::ForwardContext& context) const override;
  /// Each term for itself. Throws Error naming both shapes where the models' states or outputs differ.
  DistillationTerms terms(const models::Transformer& student, const Batch& batch,
                          const models::ForwardContext& context) const;

 private:
  const models::Transformer& teacher_;
  const Objective& data_;
  DistillationConfig config_;
};

}  // namespace headroom::tasks
