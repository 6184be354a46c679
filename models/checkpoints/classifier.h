#pragma once
#include <cstdint>

#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// The deviation of a new head's weights in transformers (initializer_range).
inline constexpr double head_std = 0.02;

/// A causal language model, with the edits that it may have, as a classifier, as transformers'
/// LlamaForSequenceClassification is: the last position that the key mask keeps goes through a readout (classes, D) of
/// its own, without bias, whose weights are drawn from N(0, head_std²), rng's stream "init". The readout that the
/// language model had is left out. Throws Error for fewer than two classes, and for a model that is not causal or has
/// no token input.
///
///     load(*files, classifier_of({files->description().config, {}}, 2, rng), options)
ModelEdit classifier_of(ModelEdit language_model, int64_t classes, engine::Rng& rng);

}  // namespace headroom::models
