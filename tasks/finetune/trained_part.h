#pragma once
#include <cstdint>
#include <string>

#include "models/checkpoints/model_files.h"
#include "models/config.h"

namespace headroom::tasks {

/// What of a trained model is trained further.
enum class TrainedPart {
  all,    ///< every weight
  heads,  ///< the matrices that make queries and keys, or their factors, and a classifier's readout
  head,   ///< the readout alone
};
const char* name_of(TrainedPart part);
/// The part of that name. Throws Error that lists the known ones.
TrainedPart trained_part_named(const std::string& name);

/// Whether a weight of our Transformer, by its name there, is trained.
bool is_trained(TrainedPart part, const std::string& name, bool is_classifier);

/// How a model is loaded for it: what is trained in f32, what is not as the files have it, blocks too. Throws Error
/// where the model has no such part: the readout of a language model that shares the token embedding.
models::LoadOptions load_options(TrainedPart part, const models::TransformerConfig& config);

/// How many numbers of a model with that config are trained.
int64_t trained_count(TrainedPart part, const models::TransformerConfig& config);

/// Bytes that a fine-tuning holds at least, by count.
struct FinetuneNeed {
  double state = 0;        ///< trained weights, their gradients and AdamW's moments, f32
  double activations = 0;  ///< what one part of a batch keeps for the backward pass, the logits and their gradient
  double total() const { return state + activations; }
};

/// `sequences` go through the model at once, of `length` tokens. Frozen weights are not counted: they may lie in a
/// mapped file.
FinetuneNeed finetune_need(TrainedPart part, const models::TransformerConfig& config, int64_t sequences,
                           int64_t length);

}  // namespace headroom::tasks
