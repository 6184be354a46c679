#include "models/config.h"

#include <algorithm>

#include "models/positions.h"

namespace headroom::models {

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

const char* name_of(Norm norm) {
  switch (norm) {
    case Norm::none:
      return "none";
    case Norm::layer_norm:
      return "layer_norm";
    case Norm::rms_norm:
      break;
  }
  return "rms_norm";
}

const char* name_of(NormPlace place) {
  return place == NormPlace::pre ? "pre" : place == NormPlace::post ? "post" : "both";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::silu:
      return "silu";
    case Activation::swiglu:
      return "swiglu";
    case Activation::geglu:
      return "geglu";
    case Activation::library:
      break;
  }
  return "library";
}

const char* name_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::none:
      return "none";
    case Pooling::mean:
      return "mean";
    case Pooling::last:
      break;
  }
  return "last";
}

const char* name_of(InitScheme scheme) {
  switch (scheme) {
    case InitScheme::torch_linear:
      return "torch_linear";
    case InitScheme::normal:
      return "normal";
    case InitScheme::xavier:
      return "xavier";
    case InitScheme::kaiming:
      return "kaiming";
    case InitScheme::gpt2:
      break;
  }
  return "gpt2";
}

const char* name_of(RopeScalingKind kind) {
  switch (kind) {
    case RopeScalingKind::none:
      return "none";
    case RopeScalingKind::linear:
      return "linear";
    case RopeScalingKind::llama3:
      break;
  }
  return "llama3";
}

}  // namespace headroom::models
