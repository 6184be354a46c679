#pragma once
#include <map>
#include <string>

#include "models/config.h"
#include "models/weights/source.h"

namespace headroom::tasks {

/// The weights of one layer's attention by our names, f32: q_proj, k_proj and v_proj of its one group of heads, o_proj,
/// their biases, and the norms of queries and keys where it has such. Throws Error as the source does.
std::map<std::string, engine::Tensor> attention_weights(const models::TransformerConfig& base,
                                                        models::WeightSource& source, int64_t layer);

}  // namespace headroom::tasks
