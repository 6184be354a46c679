#include "models/hugging_face/config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "models/families/family.h"
#include "models/files/json.h"
#include "models/hugging_face/known_keys.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

using nlohmann::json;

constexpr int64_t most = int64_t(1) << 40;

/// The fields of a config.json; every message names file and field. It remembers which were asked for.
class Fields {
 public:
  Fields(const json& fields, std::string source) : fields_(fields), source_(std::move(source)) {
    require(fields.is_object(), "{}: expected a JSON object, got {}", source_, shown(fields));
  }
  [[noreturn]] void complain(const char* name, const std::string& message) const {
    fail("{}: {}: {}", source_, name, message);
  }
  /// null counts as absent, as transformers reads it.
  bool has(const char* name) const {
    asked_.insert(name);
    return fields_.contains(name) && !fields_[name].is_null();
  }
  int64_t count(const char* name) const {
    if (!has(name)) complain(name, "missing");
    const json& value = fields_[name];
    const bool is_count = value.is_number_integer() &&
                          (value.is_number_unsigned() ? value.get<uint64_t>() <= most : value.get<int64_t>() >= 1);
    if (!is_count || value.get<int64_t>() < 1 || value.get<int64_t>() > most)
      complain(name, "expected an integer from 1 to 2^40, got " + shown(value));
    return value.get<int64_t>();
  }
  int64_t count(const char* name, int64_t otherwise) const { return has(name) ? count(name) : otherwise; }
  bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!fields_[name].is_boolean()) complain(name, "expected true or false, got " + shown(fields_[name]));
    return fields_[name].get<bool>();
  }
  double positive(const char* name, double otherwise) const {
    if (!has(name)) return otherwise;
    const json& value = fields_[name];
    if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>()))
      complain(name, "expected a number above 0, got " + shown(value));
    return value.get<double>();
  }
  /// An object's fields; nothing when it is absent.
  std::optional<Fields> object(const char* name) const {
    if (!has(name)) return std::nullopt;
    if (!fields_[name].is_object()) complain(name, "expected an object, got " + shown(fields_[name]));
    return Fields(fields_[name], source_ + ": " + name);
  }
  /// Two names of one thing, of which a file may give both only with the same value.
  void agree(const char* one, const char* other) const {
    if (has(one) && has(other) && fields_[one] != fields_[other])
      complain(one, fields_[one].is_structured()
                        ? fmt::format("contradicts {}, another name of it", other)
                        : fmt::format("{} contradicts {} = {}", shown(fields_[one]), other, shown(fields_[other])));
  }
  /// The names of a list that are texts.
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> all;
    if (has(name) && fields_[name].is_array())
      for (const json& each : fields_[name])
        if (each.is_string()) all.push_back(each.get<std::string>());
    return all;
  }
  /// A whole number from 0.
  int64_t size(const char* name, int64_t otherwise) const {
    const bool is_zero = has(name) && fields_[name].is_number_integer() && fields_[name] == 0;
    return is_zero ? 0 : count(name, otherwise);
  }
  int64_t entries(const char* name) const { return has(name) ? static_cast<int64_t>(fields_[name].size()) : 0; }
  std::string text(const char* name) const {
    if (!has(name)) complain(name, "missing");
    if (!fields_[name].is_string()) complain(name, "expected a string, got " + shown(fields_[name]));
    return fields_[name].get<std::string>();
  }
  /// The fields that nothing has asked for, without those that are null.
  std::map<std::string, json> unread() const {
    std::map<std::string, json> rest;
    for (const auto& [name, value] : fields_.items())
      if (!asked_.contains(name) && !value.is_null()) rest.emplace(name, value);
    return rest;
  }

 private:
  const json& fields_;
  std::string source_;
  mutable std::set<std::string> asked_;
};

/// Heads and their width, which must agree with each other.
HeadGroup heads_of(const Fields& in, int64_t width) {
  HeadGroup group;
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

void read_gate(const Fields& in, HuggingFaceModel& model) {
  const std::string name = in.has("hidden_act") ? in.text("hidden_act") : "silu";
  const bool is_silu = name == "silu" || name == "swish";
  if (!is_silu && name != "gelu" && name != "gelu_new" && name != "gelu_pytorch_tanh")
    in.complain("hidden_act", fmt::format("expected silu or gelu, got {}", quoted_name(name)));
  model.config.activation = Activation::swiglu;  // three matrices, whichever function gates
  if (!is_silu) model.not_run.push_back(fmt::format("hidden_act: {}; only silu is supported", name));
}

void read_rope_scaling(const Fields& in, const std::string& kind, RopeScaling& s) {
  if (kind == "default") return;
  s.kind = kind == "linear" ? RopeScalingKind::linear : RopeScalingKind::llama3;
  if (!in.has("factor")) in.complain("factor", "missing");
  s.factor = in.positive("factor", 1);
  if (s.kind == RopeScalingKind::linear) return;
  s.low = in.positive("low_freq_factor", s.low);
  s.high = in.positive("high_freq_factor", s.high);
  s.original_length = in.count("original_max_position_embeddings");
}

void add_not_run(std::vector<std::string> reasons, const std::string& at, HuggingFaceModel& model) {
  for (const std::string& reason : reasons) model.not_run.push_back(at + reason);
}

/// Newer files have rope_parameters, older ones rope_theta beside rope_scaling.
void read_rope(const Fields& in, HuggingFaceModel& model) {
  TransformerConfig& c = model.config;
  c.positions = Positions::rope;
  c.rope_base = in.positive("rope_theta", 10000);
  const char* name = in.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  in.agree("rope_parameters", "rope_scaling");
  const std::optional<Fields> scaling = in.object(name);
  if (!scaling) return;
  c.rope_base = scaling->positive("rope_theta", c.rope_base);
  const char* key = scaling->has("rope_type") ? "rope_type" : "type";
  const std::string kind = scaling->has(key) ? scaling->text(key) : "default";
  if (kind != "default" && kind != "linear" && kind != "llama3") {
    model.not_run.push_back(fmt::format("{}: {} is not computed", name, quoted_name(kind)));
    return;
  }
  read_rope_scaling(*scaling, kind, c.rope_scaling);
  add_not_run(doubtful_rope_keys(scaling->unread()), std::string(name) + ": ", model);
}

/// The window of a model, which switched ones give to their last layers alone: layer_types says of each, and older
/// files say behind how many (28 where they do not).
void read_window(const Fields& in, WindowRule rule, HuggingFaceModel& model) {
  const bool is_switched = rule == WindowRule::switched, is_used = in.flag("use_sliding_window", false);
  const int64_t whole = is_switched ? in.size("max_window_layers", 28) : 0, layers = model.config.layers;
  const std::vector<std::string> kinds = is_switched ? in.texts("layer_types") : std::vector<std::string>{};
  const bool has_window = in.has("sliding_window") && (is_used || !is_switched);
  int64_t windowed = has_window ? std::max<int64_t>(0, layers - whole) : 0;
  if (!kinds.empty()) windowed = std::count(kinds.begin(), kinds.end(), "sliding_attention");
  const auto full = std::count(kinds.begin(), kinds.end(), "full_attention");
  const int64_t said = in.entries("layer_types");
  if (is_switched && said > 0 && said != layers)
    in.complain("layer_types", fmt::format("has {} entries, and num_hidden_layers is {}", said, layers));
  if (said > 0 && is_switched && windowed + full != said)
    model.not_run.emplace_back("layer_types: only full_attention and sliding_attention are computed");
  if (windowed > 0 && !has_window)
    model.not_run.emplace_back("layer_types: sliding_attention, and use_sliding_window is not true");
  if (windowed == 0 || !has_window) return;
  model.sliding_window = in.count("sliding_window");
  if (windowed < layers)
    model.not_run.push_back(fmt::format("{}: {} of {} layers have a window of {}, here all have or none",
                                        kinds.empty() ? "max_window_layers" : "layer_types", windowed, layers,
                                        *model.sliding_window));
}

HuggingFaceModel read_llama(const Fields& in, const Family& family) {
  HuggingFaceModel model;
  TransformerConfig& c = model.config;
  c.layers = in.count("num_hidden_layers");
  c.width = in.count("hidden_size");
  c.groups = {heads_of(in, c.width)};
  c.ffn_width = in.count("intermediate_size");
  c.vocab = c.output_dim = in.count("vocab_size");
  c.max_length = in.count("max_position_embeddings", 2048);
  c.tied = in.flag("tie_word_embeddings", false);
  read_rope(in, model);
  c.norm = Norm::rms_norm;
  c.norm_eps = in.positive("rms_norm_eps", 1e-6);
  read_gate(in, model);
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

HuggingFaceModel read_gpt2(const Fields& in) {
  HuggingFaceModel model;
  TransformerConfig& c = model.config;
  c.layers = in.count("n_layer");
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
void read_classifier(const Fields& in, const Family& family, HuggingFaceModel& model) {
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
  json parsed;
  try {
    parsed = parse_json(text);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
  return read_hugging_face(parsed, source);
}

HuggingFaceModel read_hugging_face(const json& config, const std::string& source) {
  const Fields in(config, source);
  const std::string type = in.text("model_type");
  const Family* family = find_family(type);
  if (!family) in.complain("model_type", fmt::format("expected one of {}, got {}", family_names(), quoted_name(type)));
  in.agree("hidden_size", "n_embd");
  in.agree("num_hidden_layers", "n_layer");
  in.agree("num_attention_heads", "n_head");
  in.agree("max_position_embeddings", "n_positions");
  in.agree("n_ctx", "n_positions");
  HuggingFaceModel model = family->stack == Stack::llama ? read_llama(in, *family) : read_gpt2(in);
  model.model_type = type;
  read_classifier(in, *family, model);
  add_not_run(doubtful_keys(in.unread(), *family), "", model);
  try {
    validate(model.config);
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
  return model;
}

}  // namespace headroom::models
