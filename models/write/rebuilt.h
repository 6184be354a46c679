#pragma once
#include <string>

#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// The edit at the shapes of `full` (see full_shape): the factors multiplied, the kept rotary pairs at the places that
/// their frequencies have in a whole head and zeros at the others, narrower values with zeros behind them, the groups
/// of a layer as one, keys and values repeated where more query heads have their own, a logit scale that is not full's
/// multiplied into W_Q. What has its full shape already stays as it is. The model computes the same.
ModelEdit rebuilt(const ModelFiles& base, const ModelEdit& edit, const TransformerConfig& full);

/// Whether a weight of that name may be part of a model at full shape: no factor, no score map, no second group.
bool has_full_shape_name(const std::string& name);

}  // namespace headroom::models
