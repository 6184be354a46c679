#pragma once
#include <filesystem>

#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// The weights file of the model that a source names: the only one in run/weights whose name begins with source.trial
/// and whose config has source.seed. Throws Error if there is none (saying how a run keeps them), or more than one.
std::filesystem::path trained_weights(const HeadSource& source);

/// The named head of a trained model: its maps and biases, logit scale, learned ALiBi slope and rotary base. Heads of a
/// group may share keys. Throws Error if the file holds no trial's config, its weights are not finite or do not fit the
/// config, or there is no such layer or head.
HeadMaps read_head_of_run(const HeadSource& source);

/// The first layer's input in a trained model: `length` tokens drawn uniformly from its vocabulary, their embeddings
/// plus positions, through the norm before attention if there is one: (D, length), f64. Throws Error for a layer other
/// than 0, a model without a vocabulary, and more tokens than it has learned positions.
engine::Tensor embedded_tokens(const HeadSource& source, int64_t length, uint64_t seed);

}  // namespace headroom::tasks
