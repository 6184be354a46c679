#pragma once
#include "models/checkpoints/model_edit.h"

namespace headroom::tasks {

/// What the paper does with truncated factors: AdamW on the mean squared error between W and A B, for each projection.
struct WeightRefinementConfig {
  double lr = 2e-4;
  int64_t steps = 150;
  double weight_decay = 0.01;
};

/// The result, over all factors of an edit. Norms are ℓ2 over all of them.
struct WeightRefinement {
  models::ModelEdit edit;     ///< with the factors after the last step
  double error_before = 0;    ///< Σ ‖W − A B‖² before the first step
  double error_after = 0;     ///< and after the last
  double gradient = 0;        ///< of the mean squared errors before the first step
  double gradient_scale = 0;  ///< the same with the sign of every other entry of W − A B turned: what one of that
                              ///< error, but of no best approximation, has
  double update = 0;          ///< of the factors' change, over their norm
};

/// Refines the factors per head of an edit (method plain) towards the base's matrices, each layer one group of heads.
/// The truncated SVD is the least error of its rank (Eckart and Young), so that there is nothing to gain. Throws Error
/// when the edit has no such factors.
WeightRefinement refine_weights(const models::TransformerConfig& base, models::WeightSource& weights,
                                models::ModelEdit edit, const WeightRefinementConfig& config);

}  // namespace headroom::tasks
