// What each family's config.json says, and what our Transformer does not compute of it.
#include "models/hugging_face/config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/costs.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using nlohmann::json;
using testing::error_of;

/// Llama-3.2-1B's sizes with the fields of `changes`; null takes one out.
json llama(const json& changes = json::object()) {
  json config = {{"model_type", "llama"},
                 {"hidden_size", 2048},
                 {"intermediate_size", 8192},
                 {"num_hidden_layers", 16},
                 {"num_attention_heads", 32},
                 {"num_key_value_heads", 8},
                 {"head_dim", 64},
                 {"vocab_size", 128256},
                 {"max_position_embeddings", 131072},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 500000.0},
                 {"tie_word_embeddings", true},
                 {"rope_scaling",
                  {{"rope_type", "llama3"},
                   {"factor", 32.0},
                   {"low_freq_factor", 1.0},
                   {"high_freq_factor", 4.0},
                   {"original_max_position_embeddings", 8192}}}};
  config.merge_patch(changes);
  return config;
}

json gpt2() {
  return {{"model_type", "gpt2"}, {"n_embd", 768},       {"n_layer", 12},
          {"n_head", 12},         {"vocab_size", 50257}, {"n_positions", 1024}};
}

HuggingFaceModel parse(const json& config) { return parse_hugging_face(config.dump(), "config.json"); }
std::string refusal(const json& config) {
  return error_of([&] { parse(config); });
}

}  // namespace

TEST_CASE("Llama 3.2 from its config.json", "[hugging-face]") {
  const HuggingFaceModel model = parse(llama());
  const TransformerConfig& c = model.config;
  CHECK(model.model_type == "llama");
  CHECK(model.not_run.empty());
  CHECK(c.window == 0);
  CHECK(parameter_count(c) == 1235814400);  // as transformers counts Llama-3.2-1B
  CHECK(c.groups == std::vector<HeadGroup>{{32, 64, 64, 8}});
  CHECK(c.positions == Positions::rope);
  CHECK(c.rope_base == 500000);
  CHECK(c.norm_eps == 1e-5);
  CHECK(c.rope_scaling.kind == RopeScalingKind::llama3);
  CHECK(c.rope_scaling.factor == 32);
  CHECK(c.rope_scaling.original_length == 8192);
}

TEST_CASE("rope in its newer and older form", "[hugging-face]") {
  const TransformerConfig newer =
      parse(llama({{"rope_theta", nullptr},
                   {"rope_scaling", nullptr},
                   {"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "linear"}, {"factor", 2}}}}))
          .config;
  CHECK(newer.rope_base == 5e5);
  CHECK(newer.rope_scaling.kind == RopeScalingKind::linear);
  CHECK(newer.rope_scaling.factor == 2);
  const TransformerConfig plain = parse(llama({{"rope_theta", nullptr}, {"rope_scaling", nullptr}})).config;
  CHECK(plain.rope_base == 10000);
  CHECK(plain.rope_scaling.kind == RopeScalingKind::none);
  const HuggingFaceModel older = parse(llama({{"rope_scaling", {{"rope_type", nullptr}, {"type", "dynamic"}}}}));
  CHECK(older.not_run.empty());
  CHECK(older.config.rope_scaling.kind == RopeScalingKind::dynamic);
  CHECK(older.config.rope_scaling.original_length == 131072);
  const HuggingFaceModel other = parse(llama({{"rope_scaling", {{"rope_type", nullptr}, {"type", "su"}}}}));
  CHECK(other.not_run == std::vector<std::string>{"rope_scaling: 'su' is not computed"});
  CHECK(refusal(llama({{"rope_scaling", {{"factor", 0}}}})) ==
        "config.json: rope_scaling: factor: expected a number above 0, got 0");
  CHECK(refusal(llama({{"rope_scaling", {{"factor", nullptr}}}})) == "config.json: rope_scaling: factor: missing");
  CHECK(refusal(llama({{"rope_scaling", "llama3"}})).find("config.json: rope_scaling: expected an object") == 0);
  CHECK(refusal(llama({{"rope_theta", -1}})) == "config.json: rope_theta: expected a number above 0, got -1");
  CHECK(refusal(llama({{"rope_scaling", {{"high_freq_factor", 1}}}})) ==
        "config.json: model.rope_scaling.high is 1; it must be above low, which is 1");
}

TEST_CASE("biases, norms and windows of the families", "[hugging-face]") {
  const auto biases = [](const json& changes) {
    const TransformerConfig c = parse(llama(changes)).config;
    const AttentionBiases b = attention_biases(c);
    return std::vector<bool>{b.q, b.k, b.v, b.o, c.ffn_bias, c.readout_bias};
  };
  CHECK(biases(json::object()) == std::vector<bool>{false, false, false, false, false, false});
  CHECK(biases({{"attention_bias", true}, {"mlp_bias", true}}) ==
        std::vector<bool>{true, true, true, true, true, false});
  CHECK(biases({{"model_type", "qwen2"}}) == std::vector<bool>{true, true, true, false, false, false});
  CHECK(parse(llama({{"model_type", "qwen3"}})).config.qk_norm);
  CHECK_FALSE(parse(llama({{"model_type", "qwen2"}})).config.qk_norm);
  CHECK(parse(llama({{"model_type", "mistral"}, {"sliding_window", 4096}})).config.window == 4096);
  CHECK(parse(llama({{"model_type", "mistral"}, {"sliding_window", nullptr}})).config.window == 0);
  CHECK(parse(llama({{"model_type", "qwen2"}, {"sliding_window", 4096}})).config.window == 0);
  json qwen = llama({{"model_type", "qwen2"}, {"sliding_window", 4096}, {"use_sliding_window", true}});
  CHECK(parse(qwen).config.window == 0);  // the first 28 layers have none
  qwen["max_window_layers"] = 0;
  CHECK(parse(qwen).config.window == 4096);
  CHECK(parse(qwen).config.full_layers.empty());
  CHECK(parse(qwen).not_run.empty());
  qwen["max_window_layers"] = 12;
  CHECK(parse(qwen).config.window == 4096);
  CHECK(parse(qwen).config.full_layers == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  qwen["layer_types"] = std::vector<std::string>(16, "sliding_attention");
  CHECK(parse(qwen).config.full_layers.empty());
  CHECK(parse(qwen).not_run.empty());
  qwen["layer_types"][3] = "linear_attention";
  CHECK(parse(qwen).not_run.size() == 1);
  qwen["layer_types"] = {"full_attention"};
  CHECK(refusal(qwen) == "config.json: layer_types: has 1 entries, and num_hidden_layers is 16");
  CHECK(parse(llama({{"hidden_act", "gelu"}})).not_run.size() == 1);
  CHECK(parse(llama({{"hidden_act", "silu"}})).not_run.empty());
  CHECK(parse(llama({{"hidden_act", "swish"}})).not_run.empty());
}

TEST_CASE("Gemma 3 from config.jsons of two generations", "[hugging-face]") {
  const json older = {{"model_type", "gemma3_text"},
                      {"num_hidden_layers", 18},
                      {"hidden_size", 640},
                      {"intermediate_size", 2048},
                      {"num_attention_heads", 4},
                      {"num_key_value_heads", 1},
                      {"head_dim", 256},
                      {"vocab_size", 262144},
                      {"sliding_window", 512},
                      {"rope_theta", 1e6},
                      {"rope_local_base_freq", 10000},
                      {"query_pre_attn_scalar", 256},
                      {"_sliding_window_pattern", 6},
                      {"cache_implementation", "hybrid"}};
  const HuggingFaceModel model = parse(older);
  CHECK(model.not_run.empty());
  const TransformerConfig& c = model.config;
  CHECK(parameter_count(c) == 268098176);  // as transformers counts google/gemma-3-270m
  CHECK(c.full_layers == std::vector<int64_t>{5, 11, 17});
  CHECK(c.embedding_scale == std::sqrt(640.0));
  CHECK(c.rope_base == 1e6);
  CHECK(c.window_rope_base == 10000);
  CHECK(c.activation == Activation::geglu);
  CHECK(c.tied);
  CHECK_FALSE(c.logit_scale);
  json newer = older;
  newer.erase("rope_theta"), newer.erase("rope_local_base_freq"), newer.erase("_sliding_window_pattern");
  newer["query_pre_attn_scalar"] = 168;
  newer["layer_types"] = std::vector<std::string>(18, "sliding_attention");
  newer["layer_types"][4] = "full_attention";
  newer["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}}},
                              {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 2e4}}}};
  const HuggingFaceModel other = parse(newer);
  CHECK(other.not_run.empty());
  CHECK(other.config.full_layers == std::vector<int64_t>{4});
  CHECK(other.config.rope_base == 5e5);
  CHECK(other.config.rope_scaling.factor == 8);
  CHECK(other.config.window_rope_base == 2e4);
  CHECK(other.config.logit_scale == 1 / std::sqrt(168.0));
  newer["rope_parameters"]["sliding_attention"]["rope_type"] = "ntk";
  newer["attn_logit_softcapping"] = 50.0;
  newer["rope_parameters"]["rope_theta"] = 1e4;
  CHECK(parse(newer).not_run.size() == 3);
}

TEST_CASE("every kind of rotary scaling from its keys", "[hugging-face]") {
  const auto scaling = [](json rope, json more = json::object()) {
    rope["rope_theta"] = 1e4;
    more["rope_scaling"] = nullptr, more["rope_parameters"] = std::move(rope);
    more["max_position_embeddings"] = 128;
    const HuggingFaceModel model = parse(llama(more));
    CHECK(model.not_run.empty());
    CHECK(model.warnings.empty());
    return model.config.rope_scaling;
  };
  // transformers' get_mscale: 0.1 ln 4 + 1.
  const RopeScaling yarn = scaling({{"rope_type", "yarn"}, {"factor", 4}, {"original_max_position_embeddings", 32}});
  CHECK(yarn.kind == RopeScalingKind::yarn);
  CHECK(yarn.attention_factor == Approx(1.1386294361));
  CHECK((yarn.low == 1 && yarn.high == 32 && yarn.truncate && yarn.original_length == 32));
  // Without a factor it is the ratio of the lengths; 0 is as good as nothing.
  const RopeScaling ratio = scaling({{"type", "yarn"},
                                     {"original_max_position_embeddings", 64},
                                     {"beta_fast", 0},
                                     {"beta_slow", 2},
                                     {"mscale", 0.707},
                                     {"mscale_all_dim", 1.0},
                                     {"truncate", false}});
  CHECK((ratio.factor == 2 && ratio.high == 32 && ratio.low == 2 && !ratio.truncate));
  CHECK(ratio.attention_factor == Approx((0.0707 * std::log(2.0) + 1) / (0.1 * std::log(2.0) + 1)));
  CHECK(scaling({{"rope_type", "yarn"}, {"factor", 4}, {"mscale", 0.7}}).attention_factor == Approx(1.1386294361));
  CHECK(scaling({{"rope_type", "yarn"}, {"factor", 4}, {"attention_factor", 0.9}}).attention_factor == 0.9);
  // A length beside the object counts before that in it.
  json long_rope = {{"rope_type", "longrope"}, {"original_max_position_embeddings", 8}};
  long_rope["short_factor"] = std::vector<double>(32, 1), long_rope["long_factor"] = std::vector<double>(32, 2.5);
  const RopeScaling phi = scaling(long_rope, {{"original_max_position_embeddings", 32}});
  CHECK((phi.original_length == 32 && phi.long_factors[31] == 2.5));
  CHECK(phi.attention_factor == Approx(std::sqrt(1 + std::log(4.0) / std::log(32.0))));
  long_rope["short_factor"] = std::vector<double>(31, 1);
  CHECK_THAT(refusal(llama({{"rope_scaling", nullptr}, {"rope_parameters", long_rope}})),
             testing::contains("short_factors holds 31; it must hold one for each pair of numbers of a head"));
  const json llama3 = {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  CHECK(scaling(llama3).original_length == 128);
}

TEST_CASE("GPT-2 from its config.json", "[hugging-face]") {
  const HuggingFaceModel model = parse(gpt2());
  CHECK(parameter_count(model.config) == 124439808);
  CHECK(model.config.activation == Activation::gelu_tanh);
  CHECK(model.config.positions == Positions::learned);
  json config = gpt2();
  const auto with = [&](const char* key, const json& value) {
    json changed = config;
    changed[key] = value;
    return error_of([&] { parse(changed); });
  };
  for (const char* activation : {"gelu", "gelu_new", "gelu_pytorch_tanh"})
    CHECK(with("activation_function", activation).empty());
  CHECK(with("activation_function", "relu").empty());
  config["activation_function"] = "tanh";
  CHECK(parse(config).not_run.size() == 1);
  CHECK_THAT(with("n_head", 7), testing::contains("n_head: 7 does not divide n_embd = 768"));
  for (const json& bad : {json(0), json(-1), json(1.5), json("12"), json((int64_t{1} << 40) + 1), json(UINT64_MAX)})
    CHECK_THAT(with("n_layer", bad), testing::contains("n_layer: expected an integer from 1 to 2^40, got "));
  CHECK_THAT(with("n_layer", nullptr), testing::contains("n_layer: missing"));
  for (const json& bad : {json(0), json(-1), json("1"), json(true)})
    CHECK_THAT(with("layer_norm_epsilon", bad), testing::contains("expected a number above 0, got "));
  CHECK_THAT(with("model_type", 3), testing::contains("model_type: expected a string, got 3"));
  CHECK_THAT(with("tie_word_embeddings", 3), testing::contains("tie_word_embeddings: expected true or false, got 3"));
  CHECK(model.not_run.empty());
}

TEST_CASE("a key that changes what is computed keeps a model from being run, others are a note", "[hugging-face]") {
  struct KeyCase {
    const char* type;
    json change;
    std::string refused;  ///< not_run, without what to do; "" where nothing is
    std::string ignored;  ///< the keys of the warning; "" where there is none
  };
  const json none = json::object();
  const KeyCase cases[] = {
      {"gpt2", {{"scale_attn_weights", false}}, "scale_attn_weights: false: scores without a scale", ""},
      {"gpt2", {{"scale_attn_weights", true}, {"reorder_and_upcast_attn", true}, {"attn_pdrop", 0.3}}, "", ""},
      {"gpt2",
       {{"scale_attn_by_inverse_layer_idx", true}},
       "scale_attn_by_inverse_layer_idx: true: a scale of the",
       ""},
      {"gpt2", {{"pruned_heads", {{"1", {0, 2}}}}}, "pruned_heads: object: heads that were taken out", ""},
      {"gpt2", {{"pruned_heads", none}}, "", ""},
      {"gpt2", {{"add_cross_attention", true}}, "add_cross_attention: true: attention to an encoder", ""},
      {"gpt2", {{"rope_theta", 1e4}}, "", "'rope_theta': not read; transformers does not read it either"},
      {"gpt2", {{"n_special", 0}, {"predict_special_tokens", true}}, "", ""},
      {"llama", {{"attention_multiplier", 0.5}}, "attention_multiplier: 0.5: another scale of the scores", ""},
      {"llama", {{"logits_scaling", 8}}, "logits_scaling: 8: a scale of the logits", ""},
      {"llama", {{"logits_scaling", 1.0}, {"rope_interleaved", false}, {"quantization_config", nullptr}}, "", ""},
      {"llama", {{"rope_interleaved", true}}, "rope_interleaved: true: rotary pairs of neighbours", ""},
      {"llama", {{"alibi", true}}, "alibi: true: ALiBi's slopes", ""},
      {"llama", {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor: 0.5: heads that turn in part", ""},
      {"llama",
       {{"rope_scaling", {{"partial_rotary_factor", 0.5}}}},
       "rope_scaling: partial_rotary_factor: 0.5: h",
       ""},
      {"llama", {{"rope_scaling", {{"alpha", 1000}}}}, "rope_scaling: alpha: 1000: a base that grows", ""},
      {"llama", {{"rope_scaling", {{"full_attention", none}}}}, "", ""},
      {"llama",
       {{"rope_scaling", {{"full_attention", {{"rope_type", "yarn"}}}}}},
       "rope_scaling: full_attention: ob",
       ""},
      {"llama", {{"rope_scaling", {{"beta_fast", 32}}}}, "", "config.json: rope_scaling: 'beta_fast': not read"},
      {"llama", {{"quantization_config", none}}, "", ""},
      {"llama",
       {{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}}},
       "quantised (gptq, 4 bits), and",
       ""},
      {"llama", {{"quantization_config", {{"load_in_4bit", true}}}}, "the weights are quantised (bitsandbytes)", ""},
      {"llama", {{"quantization", {{"group_size", 64}, {"bits", 4}}}}, "the weights are quantised (MLX, 4 bits)", ""},
      {"llama", {{"final_logit_softcapping", 30}}, "final_logit_softcapping: 30: a cap on the logits", ""},
      {"llama", {{"sliding_window", 4096}, {"use_sliding_window", false}}, "", "'sliding_window': not read"},
      {"mistral", {{"attention_bias", true}, {"mlp_bias", false}}, "", "'attention_bias': not read"},
      {"qwen2", {{"use_mrope", true}}, "use_mrope: true: positions in several dimensions", ""},
      {"qwen3", {{"num_experts", 8}}, "num_experts: 8: a mixture of experts", ""},
      {"qwen3", {{"num_experts", 0}, {"moe_intermediate_size", 768}}, "moe_intermediate_size: 768: a mixture", ""},
      {"qwen3",
       {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}, {"g", 7}},
       "",
       "config.json: 'a', 'b', 'c', 'd', 'e' and 2 more: not read; transformers does not read them either"},
  };
  for (const KeyCase& c : cases) {
    json config = std::string(c.type) == "gpt2" ? gpt2() : llama({{"model_type", c.type}});
    for (const auto& [key, value] : c.change.items()) {
      if (value.is_object() && config.contains(key)) config[key].update(value);
      else config[key] = value;
    }
    INFO(c.type << " " << c.change.dump());
    const HuggingFaceModel model = parse(config);
    REQUIRE(model.not_run.size() == (c.refused.empty() ? 0 : 1));
    REQUIRE(model.warnings.size() == (c.ignored.empty() ? 0 : 1));
    if (!c.refused.empty()) CHECK_THAT(model.not_run[0], testing::contains(c.refused.c_str()));
    if (!c.ignored.empty()) CHECK_THAT(model.warnings[0], testing::contains(c.ignored.c_str()));
  }
}

TEST_CASE("what transformers writes of a model that is computed keeps none from being run", "[hugging-face]") {
  // Versions 4.44, 4.53 and 5.23: XConfig().to_dict() of every family.
  const json all = json::parse(testing::read_bytes(testing::source_root() + "/tests/models/hugging_face_configs.json"));
  CHECK(all.size() == 14);
  for (const auto& [name, config] : all.items()) {
    INFO(name);
    CHECK(parse(config).not_run == std::vector<std::string>{});
    CHECK(parse(config).warnings == std::vector<std::string>{});
  }
}

}  // namespace headroom::models
