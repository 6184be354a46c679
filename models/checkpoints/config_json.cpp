#include "models/checkpoints/config_json.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/error.h"
#include "engine/ops/packed_rows/packed_rows.h"
#include "models/config_names.h"
#include "models/files/json.h"
#include "models/positions.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

// One list of each struct's fields serves both directions.
template <class V, class G>
void group_fields(V& v, G& g) {
  v("heads", g.heads), v("qk_dim", g.qk_dim), v("v_dim", g.v_dim), v("kv_heads", g.kv_heads);
  v("q_rank", g.q_rank), v("k_rank", g.k_rank), v("v_rank", g.v_rank);
  v("q_head_rank", g.q_head_rank), v("k_head_rank", g.k_head_rank), v("score_dim", g.score_dim);
  v("joined_keys", g.joined_keys);
  v("rope_frequencies", g.rope_frequencies), v("key_cache", g.key_cache), v("value_cache", g.value_cache);
}

template <class V, class L>
void layer_fields(V& v, L& l) {
  v("groups", l.groups), v("ffn_width", l.ffn_width), v("o_rank", l.o_rank);
}

template <class V, class S>
void scaling_fields(V& v, S& s) {
  v("kind", s.kind), v("factor", s.factor), v("low", s.low), v("high", s.high);
  v("original_length", s.original_length), v("attention_factor", s.attention_factor), v("truncate", s.truncate);
  v("short_factors", s.short_factors), v("long_factors", s.long_factors);
}

template <class V, class C>
void config_fields(V& v, C& c) {
  v("layers", c.layers), v("width", c.width), v("groups", c.groups), v("unequal_layers", c.unequal_layers);
  v("max_length", c.max_length), v("window", c.window), v("full_layers", c.full_layers), v("vocab", c.vocab);
  v("embedding_scale", c.embedding_scale), v("window_rope_base", c.window_rope_base);
  v("window_rope_scaling", c.window_rope_scaling), v("input_dim", c.input_dim);
  v("output_dim", c.output_dim), v("readout_width", c.readout_width), v("tied", c.tied), v("pooling", c.pooling);
  v("causal", c.causal), v("positions", c.positions), v("rope_base", c.rope_base), v("rope_scaling", c.rope_scaling);
  v("rope_interleaved", c.rope_interleaved), v("alibi_slope_first", c.alibi_slope_first);
  v("alibi_slope_last", c.alibi_slope_last), v("alibi_slopes", c.alibi_slopes), v("norm", c.norm),
      v("norm_place", c.norm_place);
  v("final_norm", c.final_norm), v("norm_eps", c.norm_eps), v("qk_norm", c.qk_norm), v("ffn_width", c.ffn_width);
  v("o_rank", c.o_rank), v("activation", c.activation), v("attention_bias", c.attention_bias), v("q_bias", c.q_bias);
  v("k_bias", c.k_bias), v("v_bias", c.v_bias), v("o_bias", c.o_bias), v("ffn_bias", c.ffn_bias);
  v("readout_bias", c.readout_bias), v("dropout", c.dropout), v("logit_scale", c.logit_scale);
}

template <class V>
void fields_of(V& v, auto& value) {
  using T = std::remove_cvref_t<decltype(value)>;
  if constexpr (std::is_same_v<T, HeadGroup>) group_fields(v, value);
  else if constexpr (std::is_same_v<T, LayerConfig>) layer_fields(v, value);
  else if constexpr (std::is_same_v<T, RopeScaling>) scaling_fields(v, value);
  else config_fields(v, value);
}

const char* name_of(engine::BlockFormat format) { return engine::traits_of(format).name; }

/// Every value of an enum, in words.
template <class E>
std::vector<std::pair<std::string, E>> words_of() {
  std::vector<std::pair<std::string, E>> words;
  const auto add_all = [&](const auto& names) {
    for (const auto& [value, name] : names) words.emplace_back(name, value);
  };
  if constexpr (std::is_same_v<E, Pooling>) add_all(pooling_names);
  if constexpr (std::is_same_v<E, Norm>) add_all(norm_names);
  if constexpr (std::is_same_v<E, NormPlace>) add_all(norm_place_names);
  if constexpr (std::is_same_v<E, Activation>) add_all(activation_names);
  if constexpr (std::is_same_v<E, RopeScalingKind>) add_all(rope_scaling_names);
  if constexpr (std::is_same_v<E, Positions>)
    for (const PositionScheme& scheme : position_schemes()) words.emplace_back(scheme.name, scheme.positions);
  if constexpr (std::is_same_v<E, engine::BlockFormat>)
    for (const E format : engine::packed_formats) words.emplace_back(name_of(format), format);
  return words;
}

template <class T>
constexpr bool is_struct = std::is_same_v<T, HeadGroup> || std::is_same_v<T, LayerConfig> ||
                           std::is_same_v<T, RopeScaling> || std::is_same_v<T, TransformerConfig>;

template <class T>
Ordered written(const T& value);

/// Collects the fields that differ from those of a default-made struct.
struct FieldWriter {
  Ordered all = Ordered::object();
  template <class T>
  void operator()(const char* key, const T& value) {
    all[key] = written(value);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) all[key] = written(*value);
  }
};

template <class T>
Ordered written(const T& value) {
  if constexpr (is_struct<T>) {
    FieldWriter own, initial;
    fields_of(own, value);
    const T untouched{};
    fields_of(initial, untouched);
    Ordered changed = Ordered::object();
    for (const auto& [key, json] : own.all.items())
      if (!initial.all.contains(key) || initial.all[key] != json) changed[key] = json;
    return changed;
  } else if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    Ordered list = Ordered::array();
    for (const auto& item : value) list.push_back(written(item));
    return list;
  }
}

/// A value's place, for messages.
struct JsonPlace {
  std::string source, path;
  JsonPlace at(const std::string& key) const { return {source, path + "." + key}; }
  [[noreturn]] void refuse(const Json& json, const char* wanted) const {
    fail("{}: {} is {}; expected {}", source, path, shown(json), wanted);
  }
};

template <class T>
void read_into(T& value, const Json& json, const JsonPlace& place);

/// Reads the fields that an object has.
struct FieldReader {
  const Json& json;
  const JsonPlace& place;
  std::vector<std::string> known{};
  template <class T>
  void operator()(const char* key, T& value) {
    known.emplace_back(key);
    if (const auto found = json.find(key); found != json.end()) read_into(value, *found, place.at(key));
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    known.emplace_back(key);
    if (const auto found = json.find(key); found != json.end()) read_into(value.emplace(), *found, place.at(key));
  }
};

template <class T>
void read_struct(T& value, const Json& json, const JsonPlace& place) {
  if (!json.is_object()) place.refuse(json, "an object");
  FieldReader reader{json, place};
  fields_of(reader, value);
  for (const auto& [key, unused] : json.items())
    require(std::find(reader.known.begin(), reader.known.end(), key) != reader.known.end(), "{}: {}.{}: unknown field",
            place.source, place.path, quoted_name(key));
}

template <class T>
void read_into(T& value, const Json& json, const JsonPlace& place) {
  if constexpr (is_struct<T>) {
    read_struct(value, json, place);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) place.refuse(json, "true or false");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    const bool fits = json.is_number_integer() &&
                      !(json.is_number_unsigned() && json.get<uint64_t>() > std::numeric_limits<int64_t>::max());
    if (!fits) place.refuse(json, "a whole number");
    value = json.get<int64_t>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (!json.is_number()) place.refuse(json, "a number");
    value = json.get<double>();
  } else if constexpr (std::is_enum_v<T>) {
    std::string names;
    for (const auto& [word, known] : words_of<T>()) {
      if (json.is_string() && json.get<std::string>() == word) return void(value = known);
      names += (names.empty() ? "one of " : ", ") + word;
    }
    place.refuse(json, names.c_str());
  } else {
    if (!json.is_array()) place.refuse(json, "a list");
    value.clear();
    for (size_t i = 0; i < json.size(); ++i)
      read_into(value.emplace_back(), json[i], {place.source, fmt::format("{}[{}]", place.path, i)});
  }
}

}  // namespace

Ordered json_of(const TransformerConfig& config) { return written(config); }

TransformerConfig read_config(const Json& json, const std::string& source, const std::string& path) {
  TransformerConfig config;
  read_into(config, json, {source, path});
  naming(source + ": " + path, [&] { validate(config); });
  return config;
}

}  // namespace headroom::models
