#pragma once
#include <map>
#include <string>
#include <vector>

#include "models/checkpoints/model_edit.h"
#include "models/config.h"
#include "models/weights/source.h"
#include "tasks/compression/head_maps.h"

namespace headroom::tasks {

/// The weights of one layer's attention by our names, f32: q_proj, k_proj and v_proj of its one group of heads, o_proj,
/// their biases, and the norms of queries and keys where it has such. Throws Error as the source does.
std::map<std::string, engine::Tensor> attention_weights(const models::TransformerConfig& base,
                                                        models::WeightSource& source, int64_t layer);

/// Appends what one layer's attention has after a plan and the base has not, f32, and returns the layer's groups of
/// heads. `weights`: of the whole base, by our names. The maps are not looked at for heads that are left as they are.
std::vector<models::HeadGroup> write_layer(const models::TransformerConfig& base, const CompressionPlan& plan,
                                           int64_t layer, const std::map<std::string, Tensor>& weights,
                                           const LayerMaps& maps, models::NamedTensors& out);

}  // namespace headroom::tasks
