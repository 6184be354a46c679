// What of a GGUF file's metadata keeps its model from being run.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "models/tokenizers/text_start.h"
#include "models/tokenizers/vocabulary.h"
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

TEST_CASE("GGUF metadata that lies is refused by its key", "[gguf]") {
  const auto long_count = [](int64_t value) {
    return GgufValue{GgufValueType::u64, false, std::vector<int64_t>{value}};
  };
  struct Case {
    std::string key;
    GgufValue value;
    const char* wanted;
  };
  const Case cases[] = {
      {"llama.block_count", text("2"), "is string, expected a whole number"},
      {"llama.block_count", counts({2}), "is an array of i32, expected a whole number"},
      {"llama.block_count", whole(0), "expected a number from 1 to 2^40, got 0"},
      {"llama.block_count", long_count((int64_t{1} << 40) + 1), "got 1099511627777"},
      {"llama.attention.layer_norm_rms_epsilon", fraction(0), "expected a number above 0, got 0"},
      {"llama.attention.layer_norm_rms_epsilon", fraction(INFINITY), "expected a number above 0, got inf"},
      {"llama.attention.layer_norm_rms_epsilon", whole(1), "is u32, expected a fraction"},
      {"llama.attention.head_count_kv", whole(4), "4 does not divide head_count = 6"},
      {"llama.rope.scaling.type", text("linear"), "'llama.rope.scaling.factor': missing"},
      {"general.type", text("adapter"), "is a LoRA adapter"},
      {"general.type", text("mmproj"), "the part of a model that reads images"},
      {"general.type", text("imatrix"), "is an importance matrix, not a model"},
      {"tokenizer.ggml.add_bos_token", whole(1), "is no bool, expected true or false"},
      {"tokenizer.ggml.add_eos_token", {GgufValueType::boolean, false, std::vector<int64_t>{1}}, "eos_token_id is mis"},
      {"split.count", whole(2), "is one of 2 parts, and is not called so"},
      {"split.tensors.count", whole(20), "has 21 tensors in its 1 parts, and names 20"},
      {"split.no", whole(1), "is part 2 of 1 by its metadata, not 1 of 1"},
      {"general.alignment", whole(48), "is the writer's own"},
  };
  for (const Case& c : cases) {
    INFO(c.key << ": " << c.wanted);
    CHECK_THAT(testing::error_of([&] { (void)described({{c.key, c.value}}); }), testing::contains(c.wanted));
  }
  for (const auto& [architecture, wanted] : {std::pair{"clip", "reads images"},
                                             {"controlvector", "is a control vector"},
                                             {"imatrix", "is an importance matrix"},
                                             {"mamba", "expected one of "}})
    CHECK_THAT(testing::error_of([&, own = architecture] { (void)described({}, own); }), testing::contains(wanted));
  CHECK(described({{"llama.rope.dimension_count", whole(2)}}).not_run ==
        std::vector<std::string>{"llama.rope.dimension_count: 2 of a head's 4 dimensions turn, here all do"});
}

TEST_CASE("a GGUF file's vocabulary that lies is refused by its key", "[gguf]") {
  const auto texts = [](std::vector<std::string> all) {
    return GgufValue{GgufValueType::string, true, std::move(all)};
  };
  const auto scores = [](std::vector<double> all) { return GgufValue{GgufValueType::f32, true, std::move(all)}; };
  const std::string own = "tokenizer.ggml.";
  const GgufPairs pieces{{own + "model", text("llama")},
                         {own + "tokens", texts({"<unk>", "a"})},
                         {own + "token_type", counts({2, 1})},
                         {own + "scores", scores({0, -1})}},
      bytes{{own + "model", text("gpt2")},
            {own + "tokens", texts({"a", "b", "ab"})},
            {own + "merges", texts({"a b"})},
            {own + "pre", text("gpt-2")}};
  const auto refusal = [](GgufPairs metadata, const std::string& key, const GgufValue& value) {
    std::erase_if(metadata, [&](const auto& pair) { return pair.first == key; });
    GgufMetadata all("m.gguf");
    for (auto& [name, one] : metadata) all.add(name, one);
    all.add(key, value);
    return testing::error_of([&] { (void)gguf_vocabulary(all, "m", "m.gguf"); });
  };
  const auto says = [](const char* part) { return testing::contains(part); };
  CHECK(refusal(pieces, own + "unknown_token_id", whole(0)).empty());
  CHECK(refusal(bytes, own + "x", whole(0)).empty());
  CHECK_THAT(refusal(pieces, own + "model", text("rwkv")), says("'rwkv' is not supported (gpt2 and llama are)"));
  CHECK_THAT(refusal(pieces, own + "tokens", text("a")), says("is string, expected an array of strings"));
  CHECK_THAT(refusal(pieces, own + "token_type", counts({2})), says("holds 1 types for 2 tokens"));
  CHECK_THAT(refusal(pieces, own + "token_type", counts({0, 1})), says("token 0 has type 0, 1 to 6 are known"));
  CHECK_THAT(refusal(pieces, own + "token_type", counts({2, 7})), says("token 1 has type 7"));
  CHECK_THAT(refusal(pieces, own + "scores", scores({0})), says("holds 1 scores for 2 tokens"));
  CHECK_THAT(refusal(pieces, own + "scores", scores({0, NAN})), says("'tokenizer.ggml.tokens': piece 'a'"));
  CHECK_THAT(refusal(pieces, own + "tokens", texts({"<unk>", "<unk>"})), says("is given twice"));
  GgufPairs unnamed = pieces;
  unnamed[2].second = counts({1, 1});
  CHECK(refusal(unnamed, own + "unknown_token_id", whole(1)).empty());
  for (const int64_t none : {-1, 2})
    CHECK_THAT(refusal(unnamed, own + "unknown_token_id", {GgufValueType::i32, false, std::vector<int64_t>{none}}),
               says("holds 0 unknown pieces"));
  CHECK_THAT(refusal(unnamed, own + "x", whole(0)), says("holds 0 unknown pieces"));
  CHECK_THAT(refusal(bytes, own + "pre", text("none")), says("'none' names a way to cut texts that is not known here"));
  for (const char* merge : {"a", " b", "a ", "a b c", "a c", "c a", "b a"})
    CHECK_THAT(refusal(bytes, own + "merges", texts({merge})), says("'tokenizer.ggml.merges': merge "));
}

TEST_CASE("the token that begins or ends a GGUF file's texts is one of its vocabulary", "[gguf]") {
  const GgufValue yes{GgufValueType::boolean, false, std::vector<int64_t>{1}};
  const auto gpt2 = [&](const GgufPairs& more) {
    GgufMetadata all("m.gguf");
    all.add("tokenizer.ggml.model", text("gpt2"));
    for (const auto& [name, one] : more) all.add(name, one);
    return text_start_of_gguf(all, 10);  // fewer than llama.cpp's usual token, 11
  };
  CHECK_FALSE(gpt2({}).begin);
  CHECK(gpt2({}).notes.size() == 1);  // no way to cut texts
  CHECK(gpt2({{"tokenizer.ggml.pre", text("gpt-2")}}).notes.empty());
  CHECK_FALSE(gpt2({{"tokenizer.ggml.pre", text("none")}}).begin);
  CHECK(gpt2({{"tokenizer.ggml.bos_token_id", whole(3)}, {"tokenizer.ggml.add_bos_token", yes}}).begin == 3);
  CHECK(gpt2({{"tokenizer.ggml.eos_token_id", whole(4)}, {"tokenizer.ggml.add_eos_token", yes}}).end == 4);
  CHECK_FALSE(gpt2({{"tokenizer.ggml.bos_token_id", whole(99)}}).bos);
  for (const char* key : {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"})
    CHECK_THAT(testing::error_of([&] { (void)gpt2({{key, yes}}); }), testing::contains("is true, and "));
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
