#pragma once
#include <string>
#include <vector>

#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// Where one query head of a layer lies in its groups.
struct QueryHeadPlace {
  size_t group = 0;
  int64_t head = 0;    ///< within the group
  int64_t shared = 0;  ///< its key-value head within the group
  int64_t column = 0;  ///< its first column of the output projection
};

/// The heads of a layer in the order of its groups.
std::vector<QueryHeadPlace> heads_in_order(const LayerConfig& layer);

/// For each frequency in `have`, the index of the same one (to 1e-6) in `wanted`. Throws Error if it is missing or not
/// there often enough.
std::vector<int64_t> matched_pairs(const std::vector<double>& have, const std::vector<double>& wanted);

/// The config of an edited model for other software: `base`'s, with all layers alike and as many key heads as the
/// edit's query heads need. `head_dim` > 0: the width of heads, instead of the base's. Throws Error naming the layer
/// and what such files cannot express: maps of scores after the rotary turn, frequencies that no head of that width
/// has, a head wider than the base's, networks of other widths, another readout.
TransformerConfig full_shape(const TransformerConfig& base, const TransformerConfig& edited, int64_t head_dim = 0);

/// The edit at the shapes of `full` (see full_shape), computing the same. It multiplies factors out, puts kept rotary
/// pairs where a whole head has their frequencies and zeros elsewhere, pads narrower values with zeros, joins a layer's
/// groups, repeats keys and values for query heads that share them, and multiplies a logit scale that differs from
/// full's into W_Q. Weights already at full shape stay as they are.
ModelEdit rebuilt(const ModelFiles& base, const ModelEdit& edit, const TransformerConfig& full);

/// True if a weight of that name may belong to a model at full shape: no factor, no score map, no second group.
bool has_full_shape_name(const std::string& name);

/// The widest head of a config: the larger of its queries' and values' widths.
int64_t widest_head(const TransformerConfig& config);

}  // namespace headroom::models
