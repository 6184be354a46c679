// What of a GGUF file's metadata keeps its model from being run.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

GgufValue fraction(double value) { return {GgufValueType::f32, false, std::vector<double>{value}}; }
GgufValue whole(int64_t value) { return {GgufValueType::u32, false, std::vector<int64_t>{value}}; }
GgufValue counts(std::vector<int64_t> values) { return {GgufValueType::i32, true, std::move(values)}; }
GgufValue text(const std::string& value) { return {GgufValueType::string, false, std::vector<std::string>{value}}; }

/// What a small llama's file says with these keys, in place of its own or besides them. `architecture`: whose keys.
ModelDescription described(const GgufPairs& more, const std::string& architecture = "llama") {
  const testing::TemporaryFolder folder;
  const GgufFile file(testing::source_root() + "/tests/models/pretrained/checkpoints/llama2-gqa.gguf");
  GgufPairs pairs{{"general.architecture", text(architecture)}};
  for (const auto& [key, value] : file.metadata().all()) {
    const std::string own = key.starts_with("llama.") ? architecture + key.substr(5) : key;
    const bool is_given = std::any_of(more.begin(), more.end(), [&](const auto& pair) { return pair.first == own; });
    if (key != "general.alignment" && key != "general.architecture" && !is_given) pairs.emplace_back(own, value);
  }
  pairs.insert(pairs.end(), more.begin(), more.end());
  StoredTensors tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.read(name));
  write_gguf(folder / "m.gguf", pairs, tensors);
  return ModelFiles::open(folder / "m.gguf")->description();
}

}  // namespace

TEST_CASE("a GGUF key that changes what is computed keeps a model from being run", "[gguf]") {
  const auto refused = [](const char* name, const GgufValue& value) {
    return described({{std::string("llama.") + name, value}}).not_run;
  };
  using Reasons = std::vector<std::string>;
  CHECK(described({}).not_run == Reasons{});
  CHECK(refused("logit_scale", fraction(0.5)) == Reasons{"llama.logit_scale: only 1 is computed"});
  CHECK(refused("logit_scale", fraction(1)) == Reasons{});
  CHECK(refused("expert_count", whole(8)) == Reasons{"llama.expert_count: only 0 is computed"});
  CHECK(refused("expert_count", whole(0)) == Reasons{});
  CHECK(refused("expert_count", text("0")) == Reasons{"llama.expert_count: only 0 is computed"});
  CHECK(refused("final_logit_softcapping", fraction(30)).size() == 1);
  CHECK(refused("rope.scaling.original_context_length", whole(64)) == Reasons{});
  CHECK(refused("attention.scale", fraction(0.1)) == Reasons{"llama.attention.scale: only 0 is computed"});
  const ModelDescription other = described({{"qwen2.attention.scale", fraction(0.1)}, {"general.anything", whole(1)}});
  CHECK((other.not_run.empty() && other.warnings.empty()));
  GgufPairs many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("llama.x" + std::to_string(i), whole(i));
  const ModelDescription noted = described(many);
  CHECK(noted.not_run.empty());
  REQUIRE(noted.warnings.size() == 1);
  CHECK_THAT(noted.warnings[0], testing::contains("'llama.x0', 'llama.x1', 'llama.x10', 'llama.x100', 'llama.x101' and "
                                                  "995 more: not read; llama.cpp does not read them either"));
}

TEST_CASE("a special token beyond the vocabulary is a note, and llama.cpp's default is taken", "[gguf]") {
  const ModelDescription model = described({{"tokenizer.ggml.model", text("llama")},
                                            {"tokenizer.ggml.bos_token_id", whole(99)},
                                            {"tokenizer.ggml.eos_token_id", whole(1000)},
                                            {"tokenizer.ggml.eot_token_id", whole(37)}});
  CHECK(model.bos == 1);
  CHECK(model.eos == std::vector<int64_t>{2});
  REQUIRE(model.warnings.size() == 3);
  CHECK_THAT(model.warnings[0],
             testing::contains("tokenizer.ggml.bos_token_id: 99 is no token of the vocabulary of 37: "
                               "1 is taken, as llama.cpp does"));
  CHECK_THAT(model.warnings[2], testing::contains("none is taken"));
}

TEST_CASE("layers of a GGUF file that differ are read from lists", "[gguf]") {
  const GgufPairs widths{{"deci.attention.key_length", whole(4)}, {"deci.attention.value_length", whole(4)}};
  const auto uneven = [&](GgufPairs own) {
    own.insert(own.end(), widths.begin(), widths.end());
    return described(own, "deci");
  };
  const std::vector<LayerConfig> alike = uneven({}).config.unequal_layers;  // six heads and two keys, two layers
  REQUIRE(alike.size() == 2);
  CHECK(alike[0] == alike[1]);
  CHECK(alike[0].groups[0].heads == 6);
  const ModelDescription model = uneven({{"deci.attention.head_count", counts({3, 0})},
                                         {"deci.attention.head_count_kv", counts({1, 0})},
                                         {"deci.feed_forward_length", counts({40, 0})}});
  CHECK(model.not_run.empty());
  CHECK(model.config.unequal_layers[0].groups[0].kv_heads == 1);
  CHECK(model.config.unequal_layers[1] == LayerConfig{});
  CHECK(uneven({{"deci.attention.head_count_kv", counts({2, 0})}}).not_run ==
        std::vector<std::string>{"deci.attention.head_count_kv: the attention of layer 1 is one matrix"});
  const auto refusal = [&](const char* name, const GgufValue& value) {
    return testing::error_of([&] { (void)uneven({{std::string("deci.") + name, value}}); });
  };
  const auto contains = [](const char* part) { return testing::contains(part); };
  CHECK_THAT(refusal("attention.head_count", counts({6})), contains("has 1 entries for 2 layers"));
  CHECK_THAT(refusal("attention.head_count", counts({6, -1})), contains("-1 is no count"));
  CHECK_THAT(refusal("attention.head_count", counts({0, 0})), contains("is 0 in every layer"));
  CHECK_THAT(refusal("attention.head_count_kv", counts({2, 4})),
             contains("4 of layer 1 does not divide its head_count = 6"));
  CHECK_THAT(refusal("block_count", whole(int64_t{1} << 31)), contains("2147483648 layers of "));
}

TEST_CASE("a GGUF file's factor of rope without a kind is linear", "[gguf]") {
  const RopeScaling scaling = described({{"llama.rope.scaling.factor", fraction(4)}}).config.rope_scaling;
  CHECK(scaling.kind == RopeScalingKind::linear);
  CHECK(scaling.factor == 4);
  const ModelDescription none =
      described({{"llama.rope.scaling.factor", fraction(4)}, {"llama.rope.scaling.type", text("none")}});
  CHECK(none.config.rope_scaling.kind == RopeScalingKind::none);
}

TEST_CASE("yarn and a factor of attention are read from a GGUF file as llama.cpp reads them", "[gguf]") {
  const RopeScaling yarn = described({{"llama.rope.scaling.type", text("yarn")},
                                      {"llama.rope.scaling.factor", fraction(4)},
                                      {"llama.rope.scaling.original_context_length", whole(16)},
                                      {"llama.rope.scaling.attn_factor", fraction(0.5)}})
                               .config.rope_scaling;
  CHECK((yarn.kind == RopeScalingKind::yarn && yarn.factor == 4 && yarn.original_length == 16));
  CHECK((yarn.low == 1 && yarn.high == 32));
  CHECK(yarn.attention_factor == Approx(0.5 * (0.1 * std::log(4.0) + 1)));
  CHECK(described({{"llama.rope.scaling.attn_factor", fraction(0.5)}}).config.rope_scaling.attention_factor == 0.5);
  CHECK(described({{"llama.rope.scaling.type", text("dynamic")}}).not_run ==
        std::vector<std::string>{"llama.rope.scaling.type: 'dynamic' is not computed"});
  CHECK_THAT(testing::error_of([] {
               (void)described({{"llama.rope.scaling.type", text("longrope")}});
             }),
             testing::contains("has no tensor 'rope_factors_short.weight'"));
}

}  // namespace headroom::models
