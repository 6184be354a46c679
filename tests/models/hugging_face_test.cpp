// What each family's config.json says, and what our Transformer does not compute of it.
#include "models/hugging_face/config.h"

#include <nlohmann/json.hpp>

#include "models/costs.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

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
  CHECK_FALSE(model.sliding_window);
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
  CHECK(older.not_run == std::vector<std::string>{"rope_scaling: 'dynamic' is not computed"});
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
  CHECK(parse(llama({{"model_type", "mistral"}, {"sliding_window", 4096}})).sliding_window == 4096);
  CHECK_FALSE(parse(llama({{"model_type", "mistral"}, {"sliding_window", nullptr}})).sliding_window);
  CHECK_FALSE(parse(llama({{"model_type", "qwen2"}, {"sliding_window", 4096}})).sliding_window);
  CHECK(
      parse(llama({{"model_type", "qwen2"}, {"sliding_window", 4096}, {"use_sliding_window", true}})).sliding_window ==
      4096);
  CHECK(parse(llama({{"hidden_act", "gelu"}})).not_run.size() == 1);
  CHECK(parse(llama({{"hidden_act", "silu"}})).not_run.empty());
}

TEST_CASE("GPT-2 from its config.json", "[hugging-face]") {
  json config = {{"model_type", "gpt2"}, {"n_embd", 768},       {"n_layer", 12},
                 {"n_head", 12},         {"vocab_size", 50257}, {"n_positions", 1024}};
  const HuggingFaceModel model = parse(config);
  CHECK(parameter_count(model.config) == 124439808);
  CHECK(model.config.activation == Activation::gelu_tanh);
  CHECK(model.config.positions == Positions::learned);
  CHECK(model.not_run.empty());
  config["scale_attn_by_inverse_layer_idx"] = true;
  CHECK(parse(config).not_run.size() == 1);
}

}  // namespace headroom::models
