#include "models/checkpoints/config_json.h"

#include "models/files/json.h"
#include "tests/models/write/edits.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using testing::contains;
using testing::error_of;

std::string problem(const std::string& text) {
  return error_of([&] { (void)read_config(parse_json(text), "config.json", "config"); });
}

}  // namespace

TEST_CASE("a config goes to JSON and back", "[compact]") {
  for (const char* family : {"smollm2", "llama3.1.gguf", "qwen3", "gpt2", "linear-rope", "llama-biases"}) {
    INFO(family);
    const TransformerConfig config = ModelFiles::open(testing::checkpoints() / family)->description().config;
    const std::vector<TransformerConfig> changed{config, testing::with_head_factors(config),
                                                 testing::with_split_heads(config), testing::with_fewer_pairs(config),
                                                 testing::with_narrow_scores(config)};
    for (const TransformerConfig& c : changed) {
      const nlohmann::ordered_json json = json_of(c);
      const TransformerConfig back = read_config(parse_json(json.dump()), "config.json", "config");
      CHECK(json_of(back) == json);
      CHECK(back.groups == c.groups);
      CHECK(back.unequal_layers == c.unequal_layers);
      CHECK(back.rope_base == c.rope_base);
      CHECK(back.norm_eps == c.norm_eps);
      CHECK(back.logit_scale == c.logit_scale);
      CHECK(back.rope_scaling.factor == c.rope_scaling.factor);
      CHECK(attention_biases(back).q == attention_biases(c).q);
      CHECK(back.positions == c.positions);
      CHECK(back.activation == c.activation);
      CHECK(back.norm == c.norm);
    }
  }
}

TEST_CASE("a wrong config names file and field", "[compact]") {
  CHECK_THAT(problem("[]"), contains("config.json: config is array; expected an object"));
  CHECK_THAT(problem(R"({"layers": "2"})"), contains("config.json: config.layers is '2'; expected a whole number"));
  CHECK_THAT(problem(R"({"layers": 18446744073709551615})"), contains("config.layers is 18446744073709551615;"));
  CHECK_THAT(problem(R"({"tied": 1})"), contains("config.tied is 1; expected true or false"));
  CHECK_THAT(problem(R"({"groups": [{"heads": 1}, {"head": 2}]})"), contains("config.groups[1].'head': unknown field"));
  CHECK_THAT(problem(R"({"norm": "rms"})"),
             contains("config.norm is 'rms'; expected one of none, layer_norm, rms_norm"));
  CHECK_THAT(problem(R"({"groups": 3})"), contains("config.groups is 3; expected a list"));
  CHECK_THAT(problem(R"({"vocab": 5, "output_dim": 5, "groups": [{"heads": 3, "kv_heads": 2}]})"),
             contains("config.json: config: model.groups[0].kv_heads is 2"));
}

}  // namespace headroom::models
