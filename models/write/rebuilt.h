#pragma once
#include <string>

#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// The edit at the shapes of `full` (see full_shape), computing the same. It multiplies factors out, puts kept rotary
/// pairs where a whole head has their frequencies and zeros elsewhere, pads narrower values with zeros, joins a layer's
/// groups, repeats keys and values for query heads that share them, and multiplies a logit scale that differs from
/// full's into W_Q. Weights already at full shape stay as they are.
ModelEdit rebuilt(const ModelFiles& base, const ModelEdit& edit, const TransformerConfig& full);

/// True if a weight of that name may belong to a model at full shape: no factor, no score map, no second group.
bool has_full_shape_name(const std::string& name);

}  // namespace headroom::models
