#include "models/checkpoints/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "engine/error.h"

namespace headroom::models {
namespace {

/// One weight's names; "{}" is the layer. "" where a scheme has no such weight.
struct NameRow {
  const char *ours, *llama, *gpt2, *gguf;
};

constexpr std::array<NameRow, 18> name_table{{
    {"tokens", "model.embed_tokens", "wte", "token_embd"},
    {"positions", "", "wpe", "position_embd"},
    {"blocks.{}.attention_norm", "model.layers.{}.input_layernorm", "h.{}.ln_1", "blk.{}.attn_norm"},
    {"blocks.{}.attention.0.q_proj", "model.layers.{}.self_attn.q_proj", "h.{}.attn.c_attn", "blk.{}.attn_q"},
    {"blocks.{}.attention.0.k_proj", "model.layers.{}.self_attn.k_proj", "h.{}.attn.c_attn", "blk.{}.attn_k"},
    {"blocks.{}.attention.0.v_proj", "model.layers.{}.self_attn.v_proj", "h.{}.attn.c_attn", "blk.{}.attn_v"},
    {"blocks.{}.attention.0.q_norm", "model.layers.{}.self_attn.q_norm", "", "blk.{}.attn_q_norm"},
    {"blocks.{}.attention.0.k_norm", "model.layers.{}.self_attn.k_norm", "", "blk.{}.attn_k_norm"},
    {"blocks.{}.attention.o_proj", "model.layers.{}.self_attn.o_proj", "h.{}.attn.c_proj", "blk.{}.attn_output"},
    {"blocks.{}.attention_out_norm", "", "", "blk.{}.post_attention_norm"},
    {"blocks.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", "h.{}.ln_2", "blk.{}.ffn_norm"},
    {"blocks.{}.ffn_out_norm", "", "", "blk.{}.post_ffw_norm"},
    {"blocks.{}.ffn.gate", "model.layers.{}.mlp.gate_proj", "", "blk.{}.ffn_gate"},
    {"blocks.{}.ffn.up", "model.layers.{}.mlp.up_proj", "h.{}.mlp.c_fc", "blk.{}.ffn_up"},
    {"blocks.{}.ffn.down", "model.layers.{}.mlp.down_proj", "h.{}.mlp.c_proj", "blk.{}.ffn_down"},
    {"final_norm", "model.norm", "ln_f", "output_norm"},
    {"readout", "lm_head", "lm_head", "output"},
    {"input", "", "", ""},
}};

/// "blocks.12.ffn.up.weight" as {"blocks.{}.ffn.up", "12", ".weight"}.
struct TakenApart {
  std::string path, layer, leaf;
};
TakenApart take_apart(const std::string& name) {
  TakenApart parts{name, "", ""};
  if (name.ends_with(".weight") || name.ends_with(".bias")) {
    const size_t dot = name.rfind('.');
    parts.path = name.substr(0, dot), parts.leaf = name.substr(dot);
  }
  for (const std::string layers : {"blocks.", "model.layers.", "h.", "blk."}) {
    if (!parts.path.starts_with(layers)) continue;
    const size_t end = std::min(parts.path.find('.', layers.size()), parts.path.size());
    parts.layer = parts.path.substr(layers.size(), end - layers.size());
    parts.path = layers + "{}" + parts.path.substr(end);
  }
  return parts;
}

std::string with_layer(std::string path, const std::string& layer) {
  if (const size_t hole = path.find("{}"); hole != std::string::npos) path.replace(hole, 2, layer);
  return path;
}

/// GGUF's name of a fused Q, K, V, whose rows of the table name the three.
constexpr const char* gguf_fused = "blk.{}.attn_qkv";

/// Gemma's norms behind the branches took the name that Llama's second norm has.
const char* gemma_column(const NameRow& row) {
  const std::string_view ours = row.ours;
  if (ours == "blocks.{}.attention_out_norm") return "model.layers.{}.post_attention_layernorm";
  if (ours == "blocks.{}.ffn_norm") return "model.layers.{}.pre_feedforward_layernorm";
  if (ours == "blocks.{}.ffn_out_norm") return "model.layers.{}.post_feedforward_layernorm";
  return row.llama;
}

const char* column(const NameRow& row, NameScheme scheme) {
  if (scheme == NameScheme::headroom) return row.ours;
  if (scheme == NameScheme::gguf) return row.gguf;
  if (scheme == NameScheme::hugging_face_gemma) return gemma_column(row);
  if (scheme == NameScheme::hugging_face_classifier && row.ours == std::string_view("readout")) return "score";
  return scheme == NameScheme::hugging_face_gpt2 ? row.gpt2 : row.llama;
}

}  // namespace

WeightPlace place_of(NameScheme scheme, const std::string& name, bool fused_qkv) {
  if (scheme == NameScheme::headroom) return {name};
  const TakenApart parts = take_apart(name);
  const auto row = std::find_if(name_table.begin(), name_table.end(),
                                [&](const NameRow& candidate) { return parts.path == candidate.ours; });
  require(row != name_table.end() && column(*row, scheme)[0] != '\0', "weights: '{}' has no name in these files", name);
  WeightPlace place;
  place.name = column(*row, scheme);
  if (fused_qkv && parts.path.ends_with("_proj") && !parts.path.ends_with("o_proj")) {
    place.parts = 3;
    place.part = parts.path.ends_with("q_proj") ? 0 : parts.path.ends_with("k_proj") ? 1 : 2;
    if (scheme == NameScheme::gguf) place.name = gguf_fused;
  }
  place.name = with_layer(place.name, parts.layer) + (parts.leaf.empty() ? ".weight" : parts.leaf);
  place.transposed = is_transposed(scheme, place.name);
  return place;
}

std::string renamed(NameScheme from, NameScheme to, const std::string& name) {
  if (from == to) return name;
  const TakenApart parts = take_apart(name);
  const bool is_fused = from == NameScheme::gguf && parts.path == gguf_fused;
  const auto row = std::find_if(name_table.begin(), name_table.end(), [&](const NameRow& candidate) {
    return column(candidate, from)[0] != '\0' &&
           (is_fused ? std::string(candidate.gpt2) == "h.{}.attn.c_attn" : parts.path == column(candidate, from));
  });
  require(row != name_table.end() && column(*row, to)[0] != '\0', "tensor '{}' has no name in the files to be written",
          name);
  const bool fuses = from == NameScheme::hugging_face_gpt2 && parts.path.ends_with(".c_attn");
  return with_layer(fuses && to == NameScheme::gguf ? gguf_fused : column(*row, to), parts.layer) + parts.leaf;
}

bool is_transposed(NameScheme scheme, const std::string& name) {
  return scheme == NameScheme::hugging_face_gpt2 && name.ends_with(".weight") && name.find(".c_") != std::string::npos;
}

double added_to(NameScheme scheme, const std::string& name) {
  return scheme == NameScheme::hugging_face_gemma && name.ends_with("norm.weight") ? 1 : 0;
}

bool has_turned_rows(NameScheme scheme, const std::string& name) {
  const std::string path = take_apart(name).path;
  return scheme != NameScheme::hugging_face_gpt2 &&
         std::any_of(name_table.begin(), name_table.end(), [&](const NameRow& row) {
           const std::string_view ours = row.ours;
           return path == column(row, scheme) && (ours.ends_with(".q_proj") || ours.ends_with(".k_proj"));
         });
}

bool is_buffer(NameScheme scheme, const std::string& name) {
  if (scheme == NameScheme::headroom) return false;
  if (scheme == NameScheme::gguf) return name == "rope_freqs.weight" || name.starts_with("rope_factors_");
  if (scheme == NameScheme::hugging_face_gpt2)
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  return name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace headroom::models
