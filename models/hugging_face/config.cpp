#include "models/hugging_face/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/config_names.h"
#include "models/families/family.h"
#include "models/files/json.h"
#include "models/hugging_face/fields.h"
#include "models/hugging_face/known_keys.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

using nlohmann::json;

/// Heads and their width, which must agree with each other.
HeadGroup heads_of(const ConfigFields& in, int64_t width, bool is_gemma) {
  HeadGroup group;
  group.heads = in.count("num_attention_heads");
  const int64_t shared = in.count("num_key_value_heads", is_gemma ? 4 : group.heads);
  if (group.heads % shared != 0)
    in.complain("num_key_value_heads", fmt::format("{} does not divide num_attention_heads = {}", shared, group.heads));
  group.kv_heads = shared == group.heads ? 0 : shared;
  if (!in.has("head_dim") && !is_gemma && width % group.heads != 0)
    in.complain("num_attention_heads",
                fmt::format("{} does not divide hidden_size = {}, and head_dim is missing", group.heads, width));
  group.qk_dim = group.v_dim = in.count("head_dim", is_gemma ? 256 : std::max<int64_t>(1, width / group.heads));
  return group;
}

void read_gate(const ConfigFields& in, HuggingFaceModel& model) {
  const std::string name = in.has("hidden_act") ? in.text("hidden_act") : "silu";
  const bool is_silu = name == "silu" || name == "swish";
  if (!is_silu && name != "gelu" && name != "gelu_new" && name != "gelu_pytorch_tanh")
    in.complain("hidden_act", fmt::format("expected silu or gelu, got {}", quoted_name(name)));
  model.config.activation = Activation::swiglu;  // three matrices, whichever function gates
  if (!is_silu) model.not_run.push_back(fmt::format("hidden_act: {}; only silu is supported", name));
}

/// A scaling as transformers' modeling_rope_utils reads it. `original`: the length of the first training where the
/// object does not say it; `longest`: max_position_embeddings.
void read_rope_scaling(const ConfigFields& in, RopeScalingKind kind, int64_t original, int64_t longest,
                       RopeScaling& s) {
  s = {.kind = kind};
  if (kind == RopeScalingKind::none) return;
  const bool has_ratio = kind == RopeScalingKind::yarn || kind == RopeScalingKind::longrope;
  if (!has_ratio && !in.has("factor")) in.complain("factor", "missing");
  if (kind == RopeScalingKind::linear || kind == RopeScalingKind::dynamic) {
    s.factor = in.positive("factor", 1);
    s.original_length = longest;
    return;
  }
  s.original_length = original > 0 ? original : in.count("original_max_position_embeddings", longest);
  s.factor = in.positive("factor", static_cast<double>(longest) / static_cast<double>(s.original_length));
  if (kind == RopeScalingKind::llama3) {
    s.low = in.positive("low_freq_factor", s.low);
    s.high = in.positive("high_freq_factor", s.high);
  } else if (kind == RopeScalingKind::yarn) {
    s.low = in.positive_or("beta_slow", yarn_slow);
    s.high = in.positive_or("beta_fast", yarn_fast);
    s.truncate = in.flag("truncate", true);
    const double one = in.positive_or("mscale", 0), all = in.positive_or("mscale_all_dim", 0);
    const bool has_weights = one > 0 && all > 0;
    s.attention_factor =
        has_weights ? yarn_attention(s.factor, one) / yarn_attention(s.factor, all) : yarn_attention(s.factor);
  } else {
    s.short_factors = in.numbers("short_factor");
    s.long_factors = in.numbers("long_factor");
    if (s.factor > 1)
      s.attention_factor = std::sqrt(1 + std::log(s.factor) / std::log(static_cast<double>(s.original_length)));
  }
  if (has_ratio) s.attention_factor = in.positive("attention_factor", s.attention_factor);
}

/// Keeps what unread keys mean.
void judge(const ConfigFields& in, const std::vector<std::string_view>& harmless, const std::string& at,
           HuggingFaceModel& model) {
  const UnreadKeys keys = judged_keys(in.unread(), harmless);
  for (const std::string& reason : keys.refused) model.not_run.push_back(at + reason);
  if (!keys.ignored.empty()) model.warnings.push_back(ignored_text(in.source(), keys, "transformers"));
}

/// Reads an object's kind of rope and its base. `at`: its path, before what it says that is not computed.
void read_rope_object(const ConfigFields& in, const std::string& at, int64_t original, double& base, RopeScaling& s,
                      HuggingFaceModel& model) {
  base = in.positive("rope_theta", base);
  const char* key = in.has("rope_type") ? "rope_type" : "type";
  const std::string name = in.has(key) ? in.text(key) : "default";
  std::optional<RopeScalingKind> kind;
  for (const auto& [known, word] : rope_scaling_names)
    if (name == (known == RopeScalingKind::none ? "default" : word)) kind = known;
  if (!kind) {
    model.not_run.push_back(fmt::format("{}: {} is not computed", at, quoted_name(name)));
    return;
  }
  read_rope_scaling(in, *kind, original, model.config.max_length, s);
  // "type" is an older name of rope_type; the other kinds alone use the length.
  judge(in, {"type", "original_max_position_embeddings"}, at + ": ", model);
}

/// Newer files have rope_parameters, older ones rope_theta and rope_scaling.
void read_rope(const ConfigFields& in, HuggingFaceModel& model) {
  TransformerConfig& c = model.config;
  c.positions = Positions::rope;
  c.rope_base = in.positive("rope_theta", 10000);
  const char* name = in.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  in.agree("rope_parameters", "rope_scaling");
  const int64_t original = in.count("original_max_position_embeddings", 0);
  if (const auto scaling = in.object(name))
    read_rope_object(*scaling, name, original, c.rope_base, c.rope_scaling, model);
}

/// Gemma's: one of the layers that see everything, another of those with a window. Older files have rope_theta and
/// rope_local_base_freq, and their rope_scaling is of the former; newer ones have rope_parameters of each kind.
void read_two_ropes(const ConfigFields& in, HuggingFaceModel& model) {
  TransformerConfig& c = model.config;
  c.positions = Positions::rope;
  c.rope_base = in.positive("rope_theta", 1e6);
  c.window_rope_base = in.positive("rope_local_base_freq", 10000);
  const auto read = [&](const std::optional<ConfigFields>& fields, const std::string& at, double& base,
                        RopeScaling& scaling) {
    if (!fields) return;
    read_rope_object(*fields, at, 0, base, scaling, model);
    // transformers asks the object around it.
    if (!scaling.truncate) model.not_run.push_back(at + ": truncate: false is not computed");
  };
  const std::optional<ConfigFields> both = in.object("rope_parameters");
  if (!both) return read(in.object("rope_scaling"), "rope_scaling", c.rope_base, c.rope_scaling);
  read(both->object("full_attention"), "rope_parameters: full_attention", c.rope_base, c.rope_scaling);
  read(both->object("sliding_attention"), "rope_parameters: sliding_attention", c.window_rope_base,
       c.window_rope_scaling);
  for (const auto& [key, value] : both->unread())
    model.not_run.push_back(fmt::format(
        "rope_parameters: {}: expected full_attention and sliding_attention, as a Gemma has them", quoted_name(key)));
}

/// Layers that see everything, by what a file says of each, or by their number where it says nothing of them: older
/// Qwens have none with a window among the first 28, Gemma has one without at every sixth place.
std::vector<int64_t> full_layers_of(const ConfigFields& in, WindowRule rule, HuggingFaceModel& model) {
  const int64_t layers = model.config.layers, said = in.entries("layer_types");
  const std::vector<std::string> kinds = in.texts("layer_types");
  if (said > 0 && said != layers)
    in.complain("layer_types", fmt::format("has {} entries, and num_hidden_layers is {}", said, layers));
  const int64_t before = rule == WindowRule::switched ? in.size("max_window_layers", 28) : 0;
  int64_t every = 0;
  if (rule == WindowRule::pattern)
    for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"})
      every = in.count(key, every > 0 ? every : 6);
  std::vector<int64_t> full;
  bool is_known = std::ssize(kinds) == said;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string kind = kinds.empty() || !is_known ? "" : kinds[static_cast<size_t>(i)];
    const bool by_number = i < before || (every > 0 && (i + 1) % every == 0);
    if (kind.empty() ? by_number : kind == "full_attention") full.push_back(i);
    is_known = is_known && (kind.empty() || kind == "full_attention" || kind == "sliding_attention");
  }
  if (!is_known) model.not_run.emplace_back("layer_types: only full_attention and sliding_attention are computed");
  return full;
}

/// The window of a model, and which layers have none.
void read_window(const ConfigFields& in, WindowRule rule, HuggingFaceModel& model) {
  TransformerConfig& c = model.config;
  const bool is_used = in.flag("use_sliding_window", false), is_given = in.has("sliding_window");
  if (rule == WindowRule::always) {
    if (is_given) c.window = in.count("sliding_window");
    return;
  }
  const size_t reasons = model.not_run.size();
  const std::vector<int64_t> full = full_layers_of(in, rule, model);
  const bool has_window = rule == WindowRule::pattern || (is_used && is_given);
  if (model.not_run.size() > reasons || std::ssize(full) == c.layers) return;
  if (!has_window && in.entries("layer_types") > 0)
    model.not_run.emplace_back("layer_types: sliding_attention, and use_sliding_window is not true");
  if (!has_window) return;
  c.window = in.count("sliding_window", 4096);
  c.full_layers = full;
}

/// Reads what Gemma's models add to Llama's.
void read_gemma(const ConfigFields& in, HuggingFaceModel& model) {
  TransformerConfig& c = model.config;
  c.norm_place = NormPlace::both;
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  const auto scalar = static_cast<double>(in.count("query_pre_attn_scalar", 256));
  if (scalar != static_cast<double>(c.groups[0].qk_dim)) c.logit_scale = 1 / std::sqrt(scalar);
  const std::string gate = in.has("hidden_activation") ? in.text("hidden_activation") : "gelu_pytorch_tanh";
  if (gate != "gelu_pytorch_tanh")
    model.not_run.push_back(
        fmt::format("hidden_activation: {}; only gelu_pytorch_tanh is supported", quoted_name(gate)));
  c.activation = Activation::geglu;
  read_two_ropes(in, model);
}

HuggingFaceModel read_llama(const ConfigFields& in, const Family& family) {
  HuggingFaceModel model;
  TransformerConfig& c = model.config;
  const bool is_gemma = family.stack == Stack::gemma;
  c.layers = in.layers("num_hidden_layers");
  c.width = in.count("hidden_size");
  c.groups = {heads_of(in, c.width, is_gemma)};
  c.ffn_width = in.count("intermediate_size");
  c.vocab = c.output_dim = in.count("vocab_size");
  c.max_length = in.count("max_position_embeddings", is_gemma ? 131072 : 2048);
  c.tied = in.flag("tie_word_embeddings", is_gemma);
  c.norm = Norm::rms_norm;
  c.norm_eps = in.positive("rms_norm_eps", 1e-6);
  if (is_gemma) read_gemma(in, model);
  else read_rope(in, model), read_gate(in, model);
  c.causal = true;
  c.attention_bias = family.biases == BiasRule::said && in.flag("attention_bias", false);
  c.ffn_bias = family.ffn_bias && in.flag("mlp_bias", false);
  c.readout_bias = false;
  c.qk_norm = family.qk_norm;
  if (family.biases == BiasRule::qkv) {
    c.q_bias = c.k_bias = c.v_bias = true;
    if (!in.flag("attention_bias", true))
      in.complain("attention_bias",
                  fmt::format("false, but model_type {} always has biases on Q, K and V", family.name));
  }
  if (family.window != WindowRule::none) read_window(in, family.window, model);
  return model;
}

HuggingFaceModel read_gpt2(const ConfigFields& in) {
  HuggingFaceModel model;
  TransformerConfig& c = model.config;
  c.layers = in.layers("n_layer");
  c.width = in.count("n_embd");
  const int64_t heads = in.count("n_head");
  if (c.width % heads != 0) in.complain("n_head", fmt::format("{} does not divide n_embd = {}", heads, c.width));
  c.groups = {{heads, c.width / heads, c.width / heads}};
  c.ffn_width = in.count("n_inner", 4 * c.width);
  c.vocab = c.output_dim = in.count("vocab_size");
  c.max_length = in.count("n_positions", 1024);
  c.tied = in.flag("tie_word_embeddings", true);
  c.norm_eps = in.positive("layer_norm_epsilon", 1e-5);
  c.activation = Activation::gelu_tanh;
  c.causal = true;
  c.readout_bias = false;
  const std::string activation = in.has("activation_function") ? in.text("activation_function") : "gelu_new";
  if (activation == "gelu") c.activation = Activation::gelu;
  else if (activation == "relu") c.activation = Activation::relu;
  else if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    model.not_run.push_back(fmt::format("activation_function: {}, here gelu_new", quoted_name(activation)));
  return model;
}

/// A classifier's readout, where the architectures name one: LlamaForSequenceClassification and the like.
void read_classifier(const ConfigFields& in, const Family& family, HuggingFaceModel& model) {
  constexpr const char* key = "architectures";
  for (const std::string& name : in.texts(key)) {
    if (!name.ends_with("ForSequenceClassification")) continue;
    if (!family.holds_classifiers()) in.complain(key, quoted_name(name) + ": classifiers of this family are not read");
    TransformerConfig& c = model.config;
    c.tied = false;
    c.pooling = Pooling::last;
    c.output_dim = in.count("num_labels", std::max<int64_t>(2, in.entries("id2label")));
  }
}

}  // namespace

HuggingFaceModel parse_hugging_face(std::string_view text, const std::string& source) {
  return read_hugging_face(naming(source, [&] { return parse_json(text); }), source);
}

HuggingFaceModel read_hugging_face(const json& config, const std::string& source) {
  const ConfigFields in(config, source);
  const std::string type = in.text("model_type");
  const Family* family = find_family(type);
  if (!family) in.complain("model_type", fmt::format("expected one of {}, got {}", family_names(), quoted_name(type)));
  in.agree("hidden_size", "n_embd");
  in.agree("num_hidden_layers", "n_layer");
  in.agree("num_attention_heads", "n_head");
  in.agree("max_position_embeddings", "n_positions");
  in.agree("n_ctx", "n_positions");
  HuggingFaceModel model = family->stack == Stack::gpt2 ? read_gpt2(in) : read_llama(in, *family);
  model.model_type = type;
  read_classifier(in, *family, model);
  judge(in, family->harmless, "", model);
  naming(source, [&] { validate(model.config); });
  return model;
}

}  // namespace headroom::models
