#pragma once
#include <cstdint>
#include <string>

#include "models/checkpoints/model_files.h"
#include "models/config.h"

namespace headroom::tasks {

/// The part of a trained model that is trained further.
enum class TrainedPart {
  all,    ///< every weight
  heads,  ///< the matrices of queries and keys, or their factors, and a classifier's readout
  head,   ///< the readout alone
};
const char* name_of(TrainedPart part);
/// The part with that name. Throws Error that lists the known ones.
TrainedPart trained_part_named(const std::string& name);

/// True if our Transformer's weight `name` is trained.
bool is_trained(TrainedPart part, const std::string& name, bool is_classifier);

/// The options for loading a model to train this part: trained weights in f32, others as stored, including blocks.
/// Throws Error if the model has no such part: the readout of a language model that shares the token embedding.
models::LoadOptions load_options(TrainedPart part, const models::TransformerConfig& config);

/// The numbers in the maps to queries and keys, whole or as factors of all heads or of each, and behind the turn.
int64_t query_key_count(const models::TransformerConfig& config);

/// The number of trained parameters in a model with that config.
int64_t trained_count(TrainedPart part, const models::TransformerConfig& config);

/// The least memory a fine-tuning needs, in bytes, by count.
struct FinetuneNeed {
  double state = 0;        ///< trained weights, their gradients and AdamW's moments, f32
  double activations = 0;  ///< one micro-batch's saved activations, the logits and their gradient
  double total() const { return state + activations; }
};

/// For `sequences` sequences of `length` tokens per pass. Frozen weights are not counted: they may lie in a mapped
/// file. `adapter` > 0: this many parameters of an adapter are trained in place of the part.
FinetuneNeed finetune_need(TrainedPart part, const models::TransformerConfig& config, int64_t sequences, int64_t length,
                           int64_t adapter = 0);

}  // namespace headroom::tasks
