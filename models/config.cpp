#include "models/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/quantized/block_format.h"
#include "models/cache_types.h"
#include "models/config_names.h"
#include "models/positions.h"

namespace headroom::models {

double yarn_attention(double factor, double weight) { return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1; }

LayerConfig first_layer(const TransformerConfig& c) {
  return c.unequal_layers.empty() ? LayerConfig{c.groups, c.ffn_width, c.o_rank} : c.unequal_layers.front();
}

bool names_cache_types(const TransformerConfig& config) {
  bool names = false;
  for_each_layer(config, [&](const LayerConfig& layer, int64_t) {
    for (const HeadGroup& group : layer.groups) names |= group.key_cache.has_value();
  });
  return names;
}

std::optional<PartialBlocks> partial_blocks(const TransformerConfig& config, engine::BlockFormat format) {
  const int64_t block = engine::traits_of(format).elements;
  std::optional<PartialBlocks> found;
  for_each_layer(config, [&](const LayerConfig& layer, int64_t) {
    for (const HeadGroup& group : layer.groups)
      for (const auto& [what, dim] : {std::pair("keys", group.key_dim()), {"values", group.v_dim}})
        if (!found && dim % block != 0) found = {what, dim, block};
  });
  return found;
}

bool has_factored_heads(const LayerConfig& layer) {
  return layer.o_rank > 0 || std::any_of(layer.groups.begin(), layer.groups.end(), [](const HeadGroup& g) {
           return g.q_rank + g.k_rank + g.v_rank + g.q_head_rank + g.k_head_rank + g.score_dim > 0;
         });
}

HeadGroup first_group(const TransformerConfig& config) {
  for (const LayerConfig& layer : config.unequal_layers)
    if (!layer.groups.empty()) return layer.groups[0];
  return config.groups.at(0);
}

std::vector<LayerConfig> layers_of(const TransformerConfig& c) {
  std::vector<LayerConfig> layers;
  for_each_layer(c, [&](const LayerConfig& layer, int64_t times) {
    layers.insert(layers.end(), static_cast<size_t>(times), layer);
  });
  return layers;
}

AttentionBiases attention_biases(const TransformerConfig& c) {
  const auto own = [&](const std::optional<bool>& bias) { return bias.value_or(c.attention_bias); };
  return {own(c.q_bias), own(c.k_bias), own(c.v_bias), own(c.o_bias)};
}

const char* name_of(Positions positions) { return scheme_of(positions).name; }

const char* name_of(Norm norm) { return name_in(norm_names, norm); }
const char* name_of(NormPlace place) { return name_in(norm_place_names, place); }
const char* name_of(Activation activation) { return name_in(activation_names, activation); }
const char* name_of(Pooling pooling) { return name_in(pooling_names, pooling); }
const char* name_of(InitScheme scheme) { return name_in(init_scheme_names, scheme); }
const char* name_of(RopeScalingKind kind) { return name_in(rope_scaling_names, kind); }

}  // namespace headroom::models
