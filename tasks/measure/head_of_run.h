#pragma once
#include <filesystem>

#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// The file with the weights of the model that a source names: the only one in run/weights whose name begins with
/// source.trial and whose config has source.seed. Throws Error when there is none (it then says how a run keeps them),
/// or more than one.
std::filesystem::path trained_weights(const HeadSource& source);

/// The named head of a trained model: its maps and biases, its logit scale, its ALiBi slope as it was learned, its
/// rotary base. Heads of a group that share keys have them. Throws Error when the file holds no trial's config, or
/// weights that are not finite or do not fit the config, or no such layer or head.
HeadMaps read_head_of_run(const HeadSource& source);

/// What the first layer of a trained model reads: `length` tokens drawn uniformly from its vocabulary, their embeddings
/// plus positions, through the norm in front of attention where the model has one there: (D, length), f64. Throws Error
/// for another layer than 0, a model without a vocabulary, and more tokens than it has learned positions.
engine::Tensor embedded_tokens(const HeadSource& source, int64_t length, uint64_t seed);

}  // namespace headroom::tasks
