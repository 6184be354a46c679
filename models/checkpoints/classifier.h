#pragma once
#include <cstdint>

#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// The standard deviation of a new head's weights in transformers (initializer_range).
inline constexpr double head_std = 0.02;

/// Turns a causal language model and its edits into a classifier, like transformers' LlamaForSequenceClassification:
/// the last position that the key mask keeps goes through a new readout (classes, D) without bias, drawn from N(0,
/// head_std²) with rng's stream "init". It replaces the language model's readout. Throws Error for fewer than two
/// classes, and for a model that is not causal or has no token input.
/// no token input.
///
///     load(*files, classifier_of({files->description().config, {}}, 2, rng), options)
ModelEdit classifier_of(ModelEdit language_model, int64_t classes, engine::Rng& rng);

}  // namespace headroom::models
