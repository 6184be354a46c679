#include "models/write/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "engine/error.h"
#include "models/write/rope_divisors.h"

namespace headroom::models {
namespace {

/// general.file_type, for the form of most numbers.
int64_t file_type(const std::vector<TensorMove>& moves) {
  std::map<GgufForm, int64_t> numbers;
  for (const TensorMove& move : moves) numbers[move.form] += move.shape.numel();
  const auto most = std::max_element(numbers.begin(), numbers.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const GgufForm form = most == numbers.end() ? GgufForm() : most->first;
  return form ? engine::traits_of(*form).gguf_file_type : 0;
}

/// Whose keys a file of the model has.
std::string_view architecture_of(const ModelDescription& model) {
  return model.config.unequal_layers.empty() ? family_named(model.family).gguf : uneven_llama;
}

/// The common count of all layers, or a list.
GgufValue layer_counts(const TransformerConfig& c, const std::function<int64_t(const LayerConfig&)>& count) {
  std::vector<int64_t> counts;
  for (const LayerConfig& layer : layers_of(c)) counts.push_back(count(layer));
  return c.unequal_layers.empty() ? gguf_u32(counts[0]) : gguf_i32_list(std::move(counts));
}
GgufValue head_counts(const TransformerConfig& c) {
  return layer_counts(c, [](const LayerConfig& l) { return l.groups.empty() ? 0 : l.groups[0].heads; });
}
GgufValue key_counts(const TransformerConfig& c) {
  return layer_counts(c, [](const LayerConfig& l) { return l.groups.empty() ? 0 : l.groups[0].key_value_heads(); });
}
GgufValue network_widths(const TransformerConfig& c) {
  return layer_counts(c, [](const LayerConfig& l) { return l.ffn_width; });
}

void add_rope(const std::string& at, const TransformerConfig& c, GgufPairs& pairs, std::vector<std::string>& notes) {
  pairs.emplace_back(at + "rope.freq_base", gguf_f32(c.rope_base));
  pairs.emplace_back(at + "rope.dimension_count", gguf_u32(first_group(c).qk_dim));
  const RopeScaling& s = c.rope_scaling;
  const auto add = [&](const char* key, GgufValue value) { pairs.emplace_back(at + key, std::move(value)); };
  const bool is_yarn = has_gguf_yarn(c);
  // Readers multiply by yarn's own factor, too.
  const double attention = s.attention_factor / (is_yarn ? yarn_attention(s.factor) : 1);
  if (std::abs(attention - 1) > 1e-7) add("rope.scaling.attn_factor", gguf_f32(attention));
  if (s.kind == RopeScalingKind::linear) {
    add("rope.scaling.type", gguf_text("linear"));
    add("rope.scaling.factor", gguf_f32(s.factor));
  } else if (is_yarn) {
    add("rope.scaling.type", gguf_text("yarn"));
    add("rope.scaling.factor", gguf_f32(s.factor));
    add("rope.scaling.original_context_length", gguf_u32(s.original_length));
  } else if (s.kind == RopeScalingKind::longrope) {
    add("rope.scaling.type", gguf_text("longrope"));
    add("rope.scaling.original_context_length", gguf_u32(s.original_length));
  } else if (s.kind == RopeScalingKind::dynamic) {
    notes.push_back(fmt::format("a GGUF file cannot say that the rotary base grows in texts beyond {} tokens (dynamic)",
                                s.original_length));
  }
}

/// Throws Error for a scaling that no GGUF file of the family says.
void check_rope(const Family& family, const TransformerConfig& c) {
  const RopeScaling &s = c.rope_scaling, &window = c.window_rope_scaling;
  const bool is_gemma = family.stack == Stack::gemma;
  const bool is_plain = s.kind == RopeScalingKind::none || s.kind == RopeScalingKind::linear;
  require(!is_gemma || (window.kind == RopeScalingKind::none && window.attention_factor == 1 && is_plain &&
                        s.attention_factor == 1),
          "rope scaling {} with {} in layers with a window: no GGUF file of gemma3 says so", name_of(s.kind),
          name_of(window.kind));
  // Readers of other families look for no tensors of divisors.
  const bool has_usual_bounds = s.kind != RopeScalingKind::yarn || has_gguf_yarn(c);
  require(family.divisors_in_gguf ||
              (s.kind != RopeScalingKind::longrope && s.kind != RopeScalingKind::llama3 && has_usual_bounds),
          "rope scaling {}{}: no GGUF file of {} says so", name_of(s.kind),
          has_usual_bounds ? "" : " with bounds of its own, or not truncated", family.gguf);
}

/// Checks what Gemma's readers take for granted, and writes what they look for.
void add_gemma(const std::string& at, const TransformerConfig& c, GgufPairs& pairs) {
  require(!c.logit_scale, "a scale of scores of {:g}: no GGUF file of gemma3 says so", c.logit_scale.value_or(0));
  if (c.window == 0) return;
  const int64_t every = c.full_layers.empty() ? c.layers + 1 : c.full_layers[0] + 1;
  for (int64_t i = 0; i < c.layers; ++i)
    require((window_of(c, i) == 0) == ((i + 1) % every == 0),
            "layer {} {} a window: no GGUF file of gemma3 says so, where every {}. layer has none", i,
            window_of(c, i) == 0 ? "has not" : "has", every);
  if (every != 6) pairs.emplace_back(at + "attention.sliding_window_pattern", gguf_u32(every));
  const double base = c.window_rope_base > 0 ? c.window_rope_base : c.rope_base;
  if (base != 10000) pairs.emplace_back(at + "rope.freq_base_swa", gguf_f32(base));
}

/// The architecture's keys.
void add_sizes(const ModelDescription& model, GgufPairs& pairs, std::vector<std::string>& notes) {
  const TransformerConfig& c = model.config;
  const HeadGroup group = first_group(c);
  const Family& family = family_named(model.family);
  const std::string at = fmt::format("{}.", architecture_of(model));
  const auto add = [&](const char* key, GgufValue value) { pairs.emplace_back(at + key, std::move(value)); };
  add("block_count", gguf_u32(c.layers));
  add("context_length", gguf_u32(model.context));
  add("embedding_length", gguf_u32(c.width));
  add("feed_forward_length", network_widths(c));
  add("attention.head_count", head_counts(c));
  add("vocab_size", gguf_u32(c.vocab));
  if (family.stack == Stack::gpt2) {
    require(c.activation == Activation::gelu_tanh, "activation {}: a GGUF file of {} means gelu_new",
            name_of(c.activation), family.gguf);
    add("attention.layer_norm_epsilon", gguf_f32(c.norm_eps));
    return;
  }
  add("attention.head_count_kv", key_counts(c));
  add("attention.layer_norm_rms_epsilon", gguf_f32(c.norm_eps));
  add("attention.key_length", gguf_u32(group.qk_dim));
  add("attention.value_length", gguf_u32(group.v_dim));
  if (c.window > 0) add("attention.sliding_window", gguf_u32(c.window));
  if (family.stack == Stack::gemma) add_gemma(at, c, pairs);
  else
    require(c.full_layers.empty(), "{} of {} layers have no window: no GGUF file of {} says so", c.full_layers.size(),
            c.layers, family.gguf);
  check_rope(family, c);
  add_rope(at, c, pairs, notes);
}

/// The keys of a GGUF source under the name of layers that differ, with what each has.
void set_layers(const ModelDescription& model, GgufPairs& pairs) {
  const std::string from = fmt::format("{}.", family_named(model.family).gguf), to = fmt::format("{}.", uneven_llama);
  const HeadGroup group = first_group(model.config);
  const std::map<std::string, GgufValue> own{{"general.architecture", gguf_text(std::string(uneven_llama))},
                                             {to + "feed_forward_length", network_widths(model.config)},
                                             {to + "attention.head_count", head_counts(model.config)},
                                             {to + "attention.head_count_kv", key_counts(model.config)},
                                             {to + "attention.key_length", gguf_u32(group.qk_dim)},
                                             {to + "attention.value_length", gguf_u32(group.v_dim)},
                                             {to + "rope.dimension_count", gguf_u32(group.qk_dim)}};
  for (auto& [key, value] : pairs)
    if (key.starts_with(from)) key = to + key.substr(from.size());
  std::erase_if(pairs, [&](const auto& pair) { return own.contains(pair.first); });
  pairs.insert(pairs.end(), own.begin(), own.end());
}

/// The keys of a GGUF source with the heads of the model where they are others. A key that is left out has its default.
void set_heads(const ModelDescription& model, GgufPairs& pairs) {
  if (!model.config.unequal_layers.empty()) return set_layers(model, pairs);
  const HeadGroup& group = model.config.groups[0];
  const Family& family = family_named(model.family);
  const std::string at = fmt::format("{}.", family.gguf);
  const int64_t plain = model.config.width / group.heads;
  const auto set = [&](const char* name, int64_t wanted, int64_t otherwise) {
    const std::string key = at + name;
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == key; });
    const bool is_there = pair != pairs.end();
    const auto* said = is_there ? std::get_if<std::vector<int64_t>>(&pair->second.items) : nullptr;
    if ((is_there ? (said && said->size() == 1 ? (*said)[0] : -1) : otherwise) == wanted) return;
    if (is_there) pair->second = gguf_u32(wanted);
    else pairs.emplace_back(key, gguf_u32(wanted));
  };
  set("attention.head_count_kv", group.key_value_heads(), group.heads);
  if (family.stack == Stack::gpt2) return;
  set("attention.key_length", group.qk_dim, plain);
  set("attention.value_length", group.v_dim, plain);
  set("rope.dimension_count", group.qk_dim, group.qk_dim);
}

}  // namespace

GgufPairs gguf_metadata(const ModelFiles& source, const std::vector<TensorMove>& moves, std::optional<WeightType> type,
                        std::vector<std::string>& notes) {
  GgufPairs pairs;
  if (const GgufMetadata* metadata = source.metadata()) {
    for (const auto& [key, value] : metadata->all())
      if (key != "general.alignment" && !(type && key == "general.file_type")) pairs.emplace_back(key, value);
    set_heads(source.description(), pairs);
    if (type) pairs.emplace_back("general.file_type", gguf_u32(file_type(moves)));
    // Readers that take the keys as they come need the architecture first.
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return a.first == "general.architecture" && b.first != "general.architecture";
    });
    return pairs;
  }
  const ModelDescription& model = source.description();
  pairs = {{"general.architecture", gguf_text(std::string(architecture_of(model)))},
           {"general.type", gguf_text("model")},
           {"general.name", gguf_text(model.name)},
           {"general.file_type", gguf_u32(file_type(moves))},
           {"general.quantization_version", gguf_u32(2)}};
  add_sizes(model, pairs, notes);
  add_tokenizer(source, pairs, notes);
  return pairs;
}

StoredTensors gguf_extras(const ModelFiles& source) {
  StoredTensors extras;
  if (source.scheme() == NameScheme::gguf) {
    for (const std::string& name : source.tensors().names())
      if (is_buffer(NameScheme::gguf, name)) extras.emplace_back(name, source.tensors().read(name));
    return extras;
  }
  const auto add = [&](const char* name, const auto& divisors) {
    const std::vector<float> numbers(divisors.begin(), divisors.end());
    if (!numbers.empty())
      extras.emplace_back(name, engine::Tensor::from({static_cast<int64_t>(numbers.size())}, numbers));  // (d/2)
  };
  const TransformerConfig& c = source.description().config;
  add("rope_freqs.weight", rope_divisors(c));
  add("rope_factors_long.weight", c.rope_scaling.long_factors);
  add("rope_factors_short.weight", c.rope_scaling.short_factors);
  return extras;
}

}  // namespace headroom::models
