#include <fmt/core.h>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/reader.h"
#include "models/config_names.h"
#include "models/positions.h"

namespace headroom::experiments {
namespace {

using models::HeadGroup;
using models::TransformerConfig;

/// Keys that came later than the first studies.
bool optional_flag(Reader& in, const std::string& key, const Default<bool>& fallback, const char* doc) {
  const bool value = in.flag(key, fallback, doc);
  in.leave_out_default(key);
  return value;
}

void bind_kv_heads(Reader& in, HeadGroup& group) {
  group.kv_heads = in.integer("kv_heads", {0, "as many as heads"}, {.low = 0, .high = most},
                              "key-value heads, shared by query heads");
  if (group.kv_heads > 0 && group.heads % group.kv_heads != 0)
    in.complain("kv_heads", fmt::format("{} does not divide the {} heads", group.kv_heads, group.heads));
}

/// Equal heads from heads, head_dim, qk_dim, v_dim and kv_heads.
HeadGroup bind_heads(Reader& in, int64_t width) {
  HeadGroup group;
  group.heads = in.integer("heads", std::nullopt, count, "attention heads of each layer, H");
  const bool needs_head_dim = !in.has("head_dim") && !(in.has("qk_dim") && in.has("v_dim"));
  const bool divides = group.heads > 0 && width % group.heads == 0;
  if (needs_head_dim && in.has("heads") && !divides)
    in.complain("heads", fmt::format("{} does not divide model.width = {}: give head_dim", group.heads, width));
  const int64_t head_dim = in.integer("head_dim", {divides ? width / group.heads : 1, "width / heads"}, count,
                                      "width of a head, unless qk_dim and v_dim say otherwise");
  in.leave_out("head_dim");
  group.qk_dim = in.integer("qk_dim", {head_dim, "head_dim"}, count, "width of a head's queries and keys");
  group.v_dim = in.integer("v_dim", {head_dim, "head_dim"}, count, "width of a head's values");
  bind_kv_heads(in, group);
  return group;
}

HeadGroup bind_group(Reader& in) {
  HeadGroup group;
  group.heads = in.integer("heads", std::nullopt, count, "heads of this shape in each layer");
  group.qk_dim = in.integer("qk_dim", std::nullopt, count, "width of a head's queries and keys");
  group.v_dim = in.integer("v_dim", std::nullopt, count, "width of a head's values");
  bind_kv_heads(in, group);
  return group;
}

/// Reads one of several unequal layers in full.
models::LayerConfig bind_layer(Reader& in) {
  models::LayerConfig layer;
  in.tables("groups", "the layer's heads, a table for each shape",
            [&](Reader& group) { layer.groups.push_back(bind_group(group)); });
  if (layer.groups.empty()) in.complain("groups", "expected at least one table { heads, qk_dim, v_dim }");
  layer.ffn_width = in.integer("ffn_width", 0, {.low = 0, .high = most},
                               "hidden width of the layer's feed-forward network; 0: there is none");
  return layer;
}

models::Init bind_init(Reader& in) {
  models::Init init;
  in.set("scheme", init.scheme, models::init_scheme_names, "how weights start");
  in.set("std", init.std, at_least(0), "standard deviation, for normal");
  in.set("embedding_std", init.embedding_std, at_least(0), "of token embeddings");
  in.set("position_std", init.position_std, at_least(0), "of learned positions");
  return init;
}

/// Lets RoPE turn so many numbers of every head.
void turn_some(Reader& in, int64_t turned, TransformerConfig& model) {
  if (!models::scheme_of(model).turns()) return in.complain("rope_dim", "is for positions that turn: rope, rope_alibi");
  std::vector<std::vector<HeadGroup>*> all{&model.groups};
  for (models::LayerConfig& layer : model.unequal_layers) all.push_back(&layer.groups);
  for (std::vector<HeadGroup>* groups : all)
    for (HeadGroup& group : *groups) {
      if (turned % 2 != 0 || turned > group.qk_dim)
        return in.complain("rope_dim", fmt::format("{}: expected an even number, at most the {} of a head's queries",
                                                   turned, group.qk_dim));
      group.rope_frequencies = models::partial_rope_frequencies(turned, group.qk_dim, model.rope_base);
    }
}

void bind_positions(Reader& in, TransformerConfig& model) {
  std::vector<std::pair<const char*, models::Positions>> names;
  for (const models::PositionScheme& scheme : models::position_schemes())
    names.emplace_back(scheme.name, scheme.positions);
  in.set("positions", model.positions, names,
         "how a position is told; alibi has a learnable slope per head, rope_alibi RoPE's angles as well");
  in.set("rope_base", model.rope_base, above(1), "base of RoPE's wavelengths");
  const int64_t turned =
      in.integer("rope_dim", 0, {.low = 0, .high = most}, "numbers of each head that RoPE turns, in pairs; 0: all");
  in.leave_out_default("rope_dim");
  if (turned > 0) turn_some(in, turned, model);
  in.set("alibi_slope_first", model.alibi_slope_first, above(0), "ALiBi: where the first head's slope starts");
  in.set("alibi_slope_last", model.alibi_slope_last, above(0), "ALiBi: where the last head's slope starts");
  in.set("alibi_slopes", model.alibi_slopes, {.low = 0, .high = most},
         "ALiBi: distinct slopes at the start, shared by neighbouring heads; 0: one per head");
  in.leave_out_default("alibi_slopes");
}

void bind_block(Reader& in, TransformerConfig& model) {
  using models::NormPlace;
  in.set("norm", model.norm, models::norm_names, "normalisation");
  in.set("norm_place", model.norm_place, {{"pre", NormPlace::pre}, {"post", NormPlace::post}},
         "before each branch, or after its sum with the residual");
  in.set("final_norm", model.final_norm, "one more norm before the readout, for norm_place = pre");
  in.set("norm_eps", model.norm_eps, above(0), "added to the variance");
  in.set("activation", model.activation, models::activation_names,
         "of the feed-forward network; the gated swiglu and geglu have three matrices of ffn_width");
  in.set("attention_bias", model.attention_bias, "biases on Q, K, V and O");
  const auto bias = [&](const char* key, const char* doc) {
    return optional_flag(in, key, {model.attention_bias, "attention_bias"}, doc);
  };
  model.q_bias = bias("q_bias", "biases on Q");
  model.k_bias = bias("k_bias", "biases on K");
  model.v_bias = bias("v_bias", "biases on V");
  model.o_bias = bias("o_bias", "biases on O");
  model.qk_norm = optional_flag(in, "qk_norm", model.qk_norm, "an RMS norm over each head's queries and keys");
  in.set("ffn_bias", model.ffn_bias, "biases in the feed-forward network");
  in.set("dropout", model.dropout, fraction, "on attention probabilities and on each residual branch");
  model.logit_scale =
      in.optional_real("logit_scale", above(0), "factor on q.k; without it 1/sqrt(qk_dim) of each group");
}

/// Reads the settings that all layers share.
void bind_equal_layers(Reader& in, TransformerConfig& model) {
  in.set("layers", model.layers, count, "blocks");
  const bool has_groups = in.has("groups");
  in.tables("groups", "heads of several shapes, a table each, in place of heads and their widths",
            [&](Reader& group) { model.groups.push_back(bind_group(group)); });
  if (has_groups && model.groups.empty()) in.complain("groups", "expected at least one table { heads, qk_dim, v_dim }");
  in.set("ffn_width", model.ffn_width, {.low = 0, .high = most},
         "hidden width of the feed-forward network; 0: there is none");
}

}  // namespace

TransformerConfig bind_model(Reader& in) {
  TransformerConfig model;
  const bool is_decoder = in.choice("kind", false, {{"encoder", false}, {"decoder", true}}, "a decoder is causal");
  model.width = in.integer("width", std::nullopt, count, "width of the residual stream, D");
  const bool has_layers = in.has("layer");
  in.tables("layer", "layers of unequal shape, a table each, in place of layers, heads, groups and ffn_width",
            [&](Reader& layer) { model.unequal_layers.push_back(bind_layer(layer)); });
  in.leave_out_default("layer");
  if (has_layers && model.unequal_layers.empty())
    in.complain("layer", "expected at least one table { groups, ffn_width }");
  if (has_layers) model.layers = static_cast<int64_t>(model.unequal_layers.size());
  in.when(!has_layers, "without model.layer", [&] { bind_equal_layers(in, model); });
  in.when(!has_layers && !in.has("groups"), "without model.groups and model.layer",
          [&] { model.groups = {bind_heads(in, model.width)}; });
  model.causal =
      in.flag("causal", {is_decoder, "true for a decoder"}, "each position attends to itself and earlier ones only");
  if (is_decoder && !model.causal) in.complain("causal", "a decoder is causal; for false use kind = \"encoder\"");
  bind_positions(in, model);
  bind_block(in, model);
  in.set("readout_width", model.readout_width, {.low = 0, .high = most},
         "hidden width of a readout of two layers with GELU; 0: one layer");
  model.readout_bias = optional_flag(in, "readout_bias", model.readout_bias, "a bias on a readout that is not tied");
  in.set("tied", model.tied, "the readout is the token embedding, without bias; for tasks of tokens");
  in.set("checkpoint_blocks", model.checkpoint_blocks,
         "recompute each block in backward: less memory, the same numbers");
  in.leave_out("checkpoint_blocks");
  in.table("init", "how weights start", [&](Reader& init) { model.init = bind_init(init); });
  return model;
}

}  // namespace headroom::experiments
