#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/plan/model_config.h"
#include "models/files/json.h"

namespace headroom::experiments {
namespace {

using models::Activation;
using models::Norm;
using models::Positions;
using nlohmann::json;

constexpr int64_t most = int64_t(1) << 40;

/// The fields of a config.json; every message names file and field.
class Fields {
 public:
  Fields(const json& fields, const std::string& source) : fields_(fields), source_(source) {
    require(fields.is_object(), "{}: wants a JSON object, got {}", source, models::shown(fields));
  }
  [[noreturn]] void complain(const char* name, const std::string& message) const {
    fail("{}: {}: {}", source_, name, message);
  }
  /// null counts as absent, as transformers reads it.
  bool has(const char* name) const { return fields_.contains(name) && !fields_[name].is_null(); }
  int64_t count(const char* name) const {
    if (!has(name)) complain(name, "missing");
    const json& value = fields_[name];
    const bool is_count = value.is_number_integer() &&
                          (value.is_number_unsigned() ? value.get<uint64_t>() <= most : value.get<int64_t>() >= 1);
    if (!is_count || value.get<int64_t>() < 1 || value.get<int64_t>() > most)
      complain(name, "wants an integer from 1 to 2^40, got " + models::shown(value));
    return value.get<int64_t>();
  }
  int64_t count(const char* name, int64_t otherwise) const { return has(name) ? count(name) : otherwise; }
  bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!fields_[name].is_boolean()) complain(name, "wants true or false, got " + models::shown(fields_[name]));
    return fields_[name].get<bool>();
  }
  /// Two names of one thing, of which a file may give both only with the same value.
  void agree(const char* one, const char* other) const {
    if (has(one) && has(other) && fields_[one] != fields_[other])
      complain(one, fmt::format("{} contradicts {} = {}", models::shown(fields_[one]), other,
                                models::shown(fields_[other])));
  }
  std::string text(const char* name) const {
    if (!has(name)) complain(name, "missing");
    if (!fields_[name].is_string()) complain(name, "wants a string, got " + models::shown(fields_[name]));
    return fields_[name].get<std::string>();
  }

 private:
  const json& fields_;
  const std::string& source_;
};

/// Heads and their width, which must agree with each other.
models::HeadGroup heads_of(const Fields& in, int64_t width) {
  models::HeadGroup group;
  group.heads = in.count("num_attention_heads");
  const int64_t shared = in.count("num_key_value_heads", group.heads);
  if (group.heads % shared != 0)
    in.complain("num_key_value_heads", fmt::format("{} does not divide num_attention_heads = {}", shared, group.heads));
  group.kv_heads = shared == group.heads ? 0 : shared;
  if (!in.has("head_dim") && width % group.heads != 0)
    in.complain("num_attention_heads",
                fmt::format("{} does not divide hidden_size = {}, and head_dim is missing", group.heads, width));
  group.qk_dim = group.v_dim = in.count("head_dim", std::max<int64_t>(1, width / group.heads));
  return group;
}

Activation gated_activation(const Fields& in) {
  const std::string name = in.has("hidden_act") ? in.text("hidden_act") : "silu";
  if (name != "silu" && name != "swish" && name != "gelu" && name != "gelu_new" && name != "gelu_pytorch_tanh")
    in.complain("hidden_act", fmt::format("wants silu or gelu, got {}", models::quoted_name(name)));
  return Activation::swiglu;  // three matrices, whichever function gates
}

/// llama, mistral, qwen2, qwen3: RMS norms, RoPE, a gated feed-forward network, no biases but where said.
PlanModel llama_like(const Fields& in, const std::string& type) {
  PlanModel model;
  models::TransformerConfig& c = model.config;
  c.layers = in.count("num_hidden_layers");
  c.width = in.count("hidden_size");
  c.groups = {heads_of(in, c.width)};
  c.ffn_width = in.count("intermediate_size");
  c.vocab = c.output_dim = in.count("vocab_size");
  c.max_length = in.count("max_position_embeddings", 2048);
  c.tied = in.flag("tie_word_embeddings", false);
  c.positions = Positions::rope;
  c.norm = Norm::rms_norm;
  c.activation = gated_activation(in);
  c.causal = true;
  const bool qwen2 = type == "qwen2";
  c.attention_bias = qwen2 || (type != "mistral" && in.flag("attention_bias", false));
  c.ffn_bias = in.flag("mlp_bias", false);
  if (qwen2 && !in.flag("attention_bias", true))
    in.complain("attention_bias", "false, but model_type qwen2 always has biases on Q, K and V");
  if (qwen2) model.parameters_beside -= c.layers * c.width;  // none on O
  if (type == "qwen3") {                                     // norms of queries and keys
    model.parameters_beside_per_dim = 2 * c.layers;
    model.parameters_beside += model.parameters_beside_per_dim * c.groups[0].qk_dim;
  }
  if (!c.tied) model.parameters_beside -= c.vocab;  // the readout has no bias
  return model;
}

PlanModel gpt2(const Fields& in) {
  PlanModel model;
  models::TransformerConfig& c = model.config;
  c.layers = in.count("n_layer");
  c.width = in.count("n_embd");
  const int64_t heads = in.count("n_head");
  if (c.width % heads != 0) in.complain("n_head", fmt::format("{} does not divide n_embd = {}", heads, c.width));
  c.groups = {{heads, c.width / heads, c.width / heads}};
  c.ffn_width = in.count("n_inner", 4 * c.width);
  c.vocab = c.output_dim = in.count("vocab_size");
  c.max_length = in.count("n_positions", 1024);
  c.tied = in.flag("tie_word_embeddings", true);
  c.activation = Activation::gelu_tanh;
  c.causal = true;
  if (!c.tied) model.parameters_beside -= c.vocab;
  return model;
}

}  // namespace

PlanModel parse_hugging_face(std::string_view text, const std::string& source) {
  json parsed;
  try {
    parsed = models::parse_json(text);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
  const Fields in(parsed, source);
  const std::string type = in.text("model_type");
  const bool known = type == "llama" || type == "mistral" || type == "qwen2" || type == "qwen3";
  if (!known && type != "gpt2")
    in.complain("model_type",
                fmt::format("wants one of llama, mistral, qwen2, qwen3, gpt2, got {}", models::quoted_name(type)));
  in.agree("hidden_size", "n_embd");
  in.agree("num_hidden_layers", "n_layer");
  in.agree("num_attention_heads", "n_head");
  in.agree("max_position_embeddings", "n_positions");
  in.agree("n_ctx", "n_positions");
  PlanModel model = known ? llama_like(in, type) : gpt2(in);
  model.source = fmt::format("{} ({})", source, type);
  try {
    models::validate(model.config);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
  return model;
}

}  // namespace headroom::experiments
