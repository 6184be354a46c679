#include "models/write/folder_files.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"
#include "models/files/regular_file.h"
#include "models/hugging_face/config.h"
#include "models/rope_cache.h"
#include "models/write/rope_divisors.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Ordered = nlohmann::ordered_json;

/// Files of a tokenizer, copied from folder to folder.
constexpr std::array tokenizer_names{"tokenizer.json",
                                     "tokenizer.model",
                                     "tokenizer_config.json",
                                     "vocab.json",
                                     "merges.txt",
                                     "added_tokens.json",
                                     "chat_template.jinja",
                                     "special_tokens_map.json",
                                     "generation_config.json"};

const char* dtype_word(GgufForm form) {
  if (!form) return "float32";
  return *form == engine::BlockFormat::f16 ? "float16" : "bfloat16";
}

/// A number that went through f32, as the shortest that is that f32: 1e-05, not 9.999999747378752e-06.
double shortest(double value) { return std::stod(fmt::format("{}", static_cast<float>(value))); }

void add_ids(const ModelDescription& model, Ordered& json) {
  if (model.bos) json["bos_token_id"] = *model.bos;
  if (model.eos.size() == 1) json["eos_token_id"] = model.eos[0];
  if (model.eos.size() > 1) json["eos_token_id"] = model.eos;
}

Ordered gpt2_config(const ModelDescription& model, const Family& family) {
  const TransformerConfig& c = model.config;
  return {{"architectures", {family.transformer}},
          {"model_type", family.name},
          {"n_embd", c.width},
          {"n_layer", c.layers},
          {"n_head", c.groups[0].heads},
          {"n_inner", c.ffn_width},
          {"n_positions", model.context},
          {"layer_norm_epsilon", shortest(c.norm_eps)},
          {"activation_function", "gelu_new"}};
}

Ordered rope_json(const RopeScaling& s) {
  Ordered json = {{"rope_type", s.kind == RopeScalingKind::none ? "default" : name_of(s.kind)}};
  if (s.kind == RopeScalingKind::none) return json;
  json["factor"] = shortest(s.factor);
  if (s.kind == RopeScalingKind::linear || s.kind == RopeScalingKind::dynamic) return json;
  json["original_max_position_embeddings"] = s.original_length;
  if (s.kind == RopeScalingKind::llama3) {
    json["low_freq_factor"] = shortest(s.low);
    json["high_freq_factor"] = shortest(s.high);
    return json;
  }
  json["attention_factor"] = shortest(s.attention_factor);
  if (s.kind == RopeScalingKind::yarn) {
    json["beta_slow"] = shortest(s.low);
    json["beta_fast"] = shortest(s.high);
    if (!s.truncate) json["truncate"] = false;
    return json;
  }
  for (const auto& [key, factors] : {std::pair{"short_factor", &s.short_factors}, {"long_factor", &s.long_factors}})
    for (const double factor : *factors) json[key].push_back(shortest(factor));
  return json;
}

void add_rope(const TransformerConfig& c, Ordered& json) {
  json["rope_theta"] = shortest(c.rope_base);
  RopeScaling scaling = c.rope_scaling;
  TransformerConfig own = c;
  std::vector<double>& frequencies = own.groups[0].rope_frequencies;
  // Only these two say what turned rows are multiplied by.
  const bool has_words = scaling.kind == RopeScalingKind::yarn || scaling.kind == RopeScalingKind::longrope;
  if (scaling.attention_factor != 1 && !has_words) frequencies = rope_frequencies(c, c.groups[0], 0);
  if (!frequencies.empty()) scaling = scaling_of_frequencies(own);
  if (scaling.kind != RopeScalingKind::none) json["rope_scaling"] = rope_json(scaling);
}

/// Adds the list of layers with the window, if not all have it.
void add_layer_types(const TransformerConfig& c, const Family& family, Ordered& json) {
  if (c.full_layers.empty() && family.window != WindowRule::pattern) {
    if (c.window > 0 && family.window == WindowRule::switched) json["max_window_layers"] = 0;
    return;
  }
  require(family.window == WindowRule::pattern || family.window == WindowRule::switched,
          "{} of {} layers have no window: no config.json of {} says so", c.full_layers.size(), c.layers, family.name);
  json["layer_types"] = Ordered::array();
  for (int64_t i = 0; i < c.layers; ++i)
    json["layer_types"].push_back(window_of(c, i) > 0 ? "sliding_attention" : "full_attention");
}

/// Adds what Gemma's config.json has besides Llama's. Both generations of transformers read the two bases here.
void add_gemma(const TransformerConfig& c, Ordered& json) {
  const double scale = c.logit_scale.value_or(1 / std::sqrt(static_cast<double>(c.groups[0].qk_dim)));
  json.erase("hidden_act");
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["query_pre_attn_scalar"] = std::llround(1 / (scale * scale));
  add_rope(c, json);
  json["rope_local_base_freq"] = shortest(c.window_rope_base > 0 ? c.window_rope_base : c.rope_base);
  if (c.window_rope_scaling.kind == RopeScalingKind::none) return;
  json.erase("rope_scaling");
  json["rope_parameters"] = {{"full_attention", rope_json(c.rope_scaling)},
                             {"sliding_attention", rope_json(c.window_rope_scaling)}};
  json["rope_parameters"]["full_attention"]["rope_theta"] = shortest(c.rope_base);
  json["rope_parameters"]["sliding_attention"]["rope_theta"] = shortest(c.window_rope_base);
}

Ordered llama_config(const ModelDescription& model, const Family& family) {
  const TransformerConfig& c = model.config;
  const HeadGroup& group = c.groups[0];
  const AttentionBiases biases = attention_biases(c);
  const bool any = biases.q || biases.k || biases.v || biases.o, all = biases.q && biases.k && biases.v && biases.o;
  const bool fits = family.biases == BiasRule::qkv    ? biases.q && biases.k && biases.v && !biases.o
                    : family.biases == BiasRule::none ? !any
                                                      : any == all;
  require(fits, "biases on Q {}, K {}, V {}, O {}: no config.json of {} says so", biases.q, biases.k, biases.v,
          biases.o, family.name);
  require(group.qk_dim == group.v_dim, "heads of {} for queries and {} for values: config.json has one head_dim",
          group.qk_dim, group.v_dim);
  require(c.qk_norm == family.qk_norm, "norms of queries and keys: no config.json of {} says so", family.name);
  require(!c.ffn_bias || family.ffn_bias, "biases of the feed-forward network: no config.json of {} says so",
          family.name);
  Ordered json = {{"architectures", {family.transformer}},
                  {"model_type", family.name},
                  {"hidden_size", c.width},
                  {"intermediate_size", c.ffn_width},
                  {"num_hidden_layers", c.layers},
                  {"num_attention_heads", group.heads},
                  {"num_key_value_heads", group.key_value_heads()},
                  {"head_dim", group.qk_dim},
                  {"hidden_act", "silu"},
                  {"max_position_embeddings", model.context},
                  {"rms_norm_eps", shortest(c.norm_eps)}};
  if (family.biases == BiasRule::said) json["attention_bias"] = all;
  if (family.ffn_bias) json["mlp_bias"] = c.ffn_bias;
  if (c.window > 0) json["sliding_window"] = c.window;
  if (c.window > 0 && family.window == WindowRule::switched) json["use_sliding_window"] = true;
  add_layer_types(c, family, json);
  if (family.stack == Stack::gemma) add_gemma(c, json);
  else add_rope(c, json);
  return json;
}

/// Turns a config.json into a classifier's: its architecture, its classes, and a padding token, because transformers
/// takes the last token that is not it.
template <class J>
void make_classifier(const ModelDescription& model, J& json) {
  std::string architecture = json.at("architectures").at(0).template get<std::string>();
  if (const size_t at = architecture.find("ForCausalLM"); at != std::string::npos)
    architecture = architecture.substr(0, at) + "ForSequenceClassification";
  json["architectures"] = {architecture};
  json["tie_word_embeddings"] = false;
  json["num_labels"] = model.config.output_dim;
  json["id2label"] = json["label2id"] = J::object();
  for (int64_t label = 0; label < model.config.output_dim; ++label) {
    json["id2label"][std::to_string(label)] = fmt::format("LABEL_{}", label);
    json["label2id"][fmt::format("LABEL_{}", label)] = label;
  }
  const bool has_pad = json.contains("pad_token_id") && json["pad_token_id"].is_number_integer() &&
                       json["pad_token_id"] >= 0 && json["pad_token_id"] < model.config.vocab;
  if (has_pad) return;
  json.erase("pad_token_id");
  if (!model.eos.empty() || model.bos) json["pad_token_id"] = model.eos.empty() ? *model.bos : model.eos[0];
}

/// Names the token that config.json pads with in tokenizer_config.json, too: transformers' tokenizers make no batches
/// without it.
void add_pad_token(const fs::path& folder, const ModelFiles& source) {
  const nlohmann::json config = read_json(folder / "config.json");
  const fs::path path = folder / "tokenizer_config.json";
  Ordered json = Ordered::parse(read_optional_object(path).dump());
  if (!config.contains("pad_token_id") || !source.has_tokenizer()) return;
  if (const auto said = json.find("pad_token"); said != json.end() && !said->is_null()) return;
  json["pad_token"] = source.tokenizer()->token_bytes(config["pad_token_id"].get<int64_t>());
  write_file(path, json.dump(2) + "\n");
}

/// A folder's own config.json with another dtype, and with the heads and the readout of the model where they are
/// others.
std::string changed_config(const fs::path& path, const ModelDescription& model, GgufForm form) {
  const TransformerConfig& wanted = model.config;
  nlohmann::json config = read_json(path);
  const TransformerConfig said = read_hugging_face(config, path.string()).config;
  const HeadGroup &heads = wanted.groups[0], &own = said.groups[0];
  if (heads.key_value_heads() != own.key_value_heads()) config["num_key_value_heads"] = heads.key_value_heads();
  if (heads.qk_dim != own.qk_dim) config["head_dim"] = heads.qk_dim;
  if (wanted.tied != said.tied) config["tie_word_embeddings"] = wanted.tied;
  config["torch_dtype"] = dtype_word(form);
  config.erase("dtype");
  config.erase("quantization_config");
  if (wanted.pooling == Pooling::last) make_classifier(model, config);
  return config.dump(2) + "\n";
}

}  // namespace

bool is_model_file(const std::string& name) {
  const bool is_tokenizers = std::find(tokenizer_names.begin(), tokenizer_names.end(), name) != tokenizer_names.end();
  return is_tokenizers || name == "config.json" || name == "model.safetensors.index.json" || name == model_card_name ||
         name == adapter_config_name || name == adapter_weights_name ||
         (name.starts_with("model") && name.ends_with(".safetensors"));
}

std::string config_json(const ModelDescription& model, GgufForm form) {
  const TransformerConfig& c = model.config;
  const Family& own = family_named(model.family);
  const Family& family = c.window > 0 ? family_named(own.with_window) : own;
  require(c.unequal_layers.empty(), "layers that differ in their heads: no config.json of {} says so", family.name);
  Ordered json = family.stack == Stack::gpt2 ? gpt2_config(model, family) : llama_config(model, family);
  json["vocab_size"] = c.vocab;
  json["tie_word_embeddings"] = c.tied;
  add_ids(model, json);
  json["torch_dtype"] = dtype_word(form);
  if (c.pooling == Pooling::last) make_classifier(model, json);
  return json.dump(2) + "\n";
}

void write_tokenizer_and_generation(const fs::path& folder, const ModelFiles& source, std::vector<std::string>& notes) {
  if (!source.metadata()) {
    for (const char* name : tokenizer_names)
      if (fs::exists(source.path() / name))
        write_file(folder / name, read_file(source.path() / name, {"file of a model", uint64_t{1} << 30}));
    return;
  }
  Ordered generation = Ordered::object();
  add_ids(source.description(), generation);
  write_file(folder / "generation_config.json", generation.dump(2) + "\n");
  if (source.has_tokenizer()) write_tokenizer_files(folder, source);
  else notes.emplace_back("the GGUF file holds no tokenizer: the folder has none either");
}

void write_folder_files(const fs::path& folder, const ModelFiles& source, GgufForm form,
                        std::vector<std::string>& notes) {
  const ModelDescription& model = source.description();
  const NameScheme scheme = source.scheme();
  const bool is_hugging_face = scheme != NameScheme::gguf && scheme != NameScheme::headroom;
  write_file(folder / "config.json",
             is_hugging_face ? changed_config(source.path() / "config.json", model, form) : config_json(model, form));
  write_tokenizer_and_generation(folder, source, notes);
  if (model.config.pooling == Pooling::last) add_pad_token(folder, source);
}

}  // namespace headroom::models
