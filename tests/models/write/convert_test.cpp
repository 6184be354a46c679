// Models go from folder to GGUF file and back, in every family that is read.
#include "models/write/convert.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "models/safetensors/safetensors.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace testing;

constexpr const char* families[] = {"llama1",       "llama2-gqa", "llama3.1",          "llama3.2-tied", "linear-rope",
                                    "llama-biases", "smollm2",    "tinyllama-sharded", "mistral",       "qwen2",
                                    "qwen3",        "gpt2",       "mistral-window",    "gemma3"};

/// Every tensor of `a` has the same bits in `b`, in f32, and b has no others.
void check_same_tensors(const fs::path& a, const fs::path& b) {
  const auto before = ModelFiles::open(a), after = ModelFiles::open(b);
  const TensorStore &x = before->tensors(), &y = after->tensors();
  size_t same = 0;
  for (const std::string& name : x.names()) {
    if (is_buffer(before->scheme(), name)) continue;
    INFO(name);
    REQUIRE(y.contains(name));
    CHECK(x.shape(name) == y.shape(name));
    const auto values = [](const StoredTensor& t) {
      return std::get<engine::Tensor>(t).to(engine::DType::f32).to_vector<float>();
    };
    CHECK(values(x.read(name)) == values(y.read(name)));
    ++same;
  }
  CHECK(same == y.names().size());
}

/// What both config.jsons say, whatever the keys that they leave to their defaults.
void check_same_description(const fs::path& a, const fs::path& b) {
  const ModelDescription x = ModelFiles::open(a)->description(), y = ModelFiles::open(b)->description();
  CHECK(x.family == y.family);
  CHECK(x.context == y.context);
  CHECK(x.config.window == y.config.window);
  CHECK(x.config.full_layers == y.config.full_layers);
  CHECK(x.config.window_rope_base == y.config.window_rope_base);
  CHECK(x.config.logit_scale == y.config.logit_scale);
  CHECK(x.bos == y.bos);
  CHECK(x.config.norm_eps == y.config.norm_eps);
  CHECK(x.config.rope_base == y.config.rope_base);
  CHECK(x.config.tied == y.config.tied);
  const RopeScaling &r = x.config.rope_scaling, &s = y.config.rope_scaling;
  CHECK(r.kind == s.kind);
  CHECK(r.factor == s.factor);
  CHECK(attention_biases(x.config).o == attention_biases(y.config).o);
}

std::string refusal(const fs::path& from, const fs::path& to, const ConvertOptions& options = {}) {
  return error_of([&] { convert_model(from, to, options); });
}

}  // namespace

TEST_CASE("folder to GGUF file and back: the same bits and the same model", "[convert]") {
  for (const char* family : families) {
    INFO(family);
    const TemporaryFolder folder;
    const Conversion there = convert_model(checkpoints() / family, folder / "m.gguf");
    CHECK_FALSE(there.rounded);
    CHECK(there.logit_error < 1e-4);
    const Conversion back = convert_model(folder / "m.gguf", folder / "back");
    CHECK_FALSE(back.rounded);
    check_same_tensors(checkpoints() / family, folder / "back");
    check_same_description(checkpoints() / family, folder / "back");
  }
}

TEST_CASE("GGUF files of another converter become the folders that they were made from", "[convert]") {
  for (const char* family : {"llama2-gqa", "llama3.1", "qwen2", "qwen3", "gpt2", "gemma3"}) {
    INFO(family);
    const TemporaryFolder folder;
    convert_model(checkpoints() / (std::string(family) + ".gguf"), folder / "out");
    check_same_tensors(checkpoints() / family, folder / "out");
  }
}

TEST_CASE("a dtype rounds matrices, and says so", "[convert]") {
  const TemporaryFolder folder;
  const fs::path from = checkpoints() / "llama1";  // f32, width 24
  const Conversion f32 = convert_model(from, folder / "f32.gguf", {.type = WeightType::f32});
  CHECK_FALSE(f32.rounded);
  CHECK(f32.notes.size() == 1);  // that there is no tokenizer
  const Conversion f16 = convert_model(from, folder / "f16.gguf", {.type = WeightType::f16});
  CHECK(f16.rounded);
  CHECK_THAT(f16.notes.back(), contains("16 tensors are rounded"));
  CHECK(f16.logit_error > 1e-5);
  CHECK(f16.logit_error < 0.05);
  const GgufFile file(folder / "f16.gguf");
  CHECK(file.type("blk.0.attn_q.weight") == "F16");
  CHECK(file.type("blk.0.attn_norm.weight") == "F32");
  CHECK(file.metadata().integer("general.file_type") == 1);
  // Rows of 24 are no blocks of 32; those of 40 neither.
  convert_model(from, folder / "q8.gguf", {.type = WeightType::q8_0});
  CHECK(GgufFile(folder / "q8.gguf").type("blk.0.ffn_down.weight") == "F16");
  const Conversion bf16 = convert_model(folder / "f32.gguf", folder / "bf16", {.type = WeightType::bf16});
  CHECK(bf16.rounded);
  CHECK(ModelFiles::open(folder / "bf16")->tensors().type("model.norm.weight") == "BF16");
  CHECK_THAT(testing::read_bytes(folder / "bf16/config.json"), contains(R"("torch_dtype": "bfloat16")"));
}

TEST_CASE("K-quants: where rows fill their blocks; elsewhere the types that llama.cpp takes", "[convert]") {
  ModelDescription model = ModelFiles::open(checkpoints() / "smollm2")->description();
  TransformerConfig& c = model.config;
  c.width = 64, c.groups = {{.heads = 4, .qk_dim = 16, .v_dim = 16, .kv_heads = 2}}, c.ffn_width = 256;
  engine::Rng rng(3);
  const TemporaryFolder folder;
  fs::create_directory(folder / "compact");
  testing::write_bytes(folder / "compact/config.json", compact_config_json(model, c));
  write_safetensors(folder / "compact/model.safetensors", Transformer(c, rng).weights());
  const fs::path from = folder / "f32.gguf";
  convert_model(folder / "compact", from);
  for (const auto& [type, own, other] :
       {std::tuple(WeightType::q4_k, "Q4_K", "Q5_0"), std::tuple(WeightType::q5_k, "Q5_K", "Q5_1"),
        std::tuple(WeightType::q6_k, "Q6_K", "Q8_0")}) {
    INFO(own);
    const fs::path to = folder / fmt::format("{}.gguf", own);
    const Conversion made = convert_model(from, to, {.type = type});
    CHECK(made.rounded);
    const GgufFile file(to);
    CHECK(file.type("blk.1.ffn_down.weight") == own);
    CHECK(file.type("blk.1.attn_q.weight") == other);
    CHECK(file.type("blk.1.ffn_norm.weight") == "F32");
    const std::string note =
        fmt::format("the rows of 13 matrices do not fill {}'s blocks of 256 numbers: these are in {}", own, other);
    CHECK(std::find(made.notes.begin(), made.notes.end(), note) != made.notes.end());
    CHECK(ModelFiles::open(to)->load()->config().ffn_width == 256);

    std::set<std::string> asked;
    const ImportanceOf importance = [&](const std::string& name) {
      asked.insert(name);
      Tensor columns = Tensor::full({256}, 1e-3);
      for (int64_t i = 0; i < 256; i += 5) columns.mutable_data<float>()[i] = 1;
      return name == "blk.1.ffn_down.weight" ? columns : Tensor();
    };
    convert_model(from, folder / "weighed.gguf", {.type = type, .importance = importance, .force = true});
    CHECK(asked.contains("blk.0.attn_q.weight"));
    const auto bytes = [&](const fs::path& path, const char* name) {
      const GgufFile read(path);
      return std::get<engine::QuantizedMatrix>(read.read(name)).blocks().to_vector<uint8_t>();
    };
    CHECK(bytes(folder / "weighed.gguf", "blk.1.ffn_down.weight") != bytes(to, "blk.1.ffn_down.weight"));
    CHECK(bytes(folder / "weighed.gguf", "blk.0.ffn_down.weight") == bytes(to, "blk.0.ffn_down.weight"));
  }
  CHECK_THAT(refusal(from, folder / "m.gguf",
                     {.type = WeightType::q4_k, .importance = [](const auto&) { return Tensor::zeros({3}); }}),
             contains("importance is f32 (3)"));
  const Conversion narrow = convert_model(checkpoints() / "llama1", folder / "n.gguf", {.type = WeightType::q4_k});
  CHECK_THAT(fmt::format("{}", fmt::join(narrow.notes, "; ")),
             contains("Q4_K's blocks of 256 numbers: these are in F16"));
}

TEST_CASE("a folder becomes one of another dtype, its other files copied", "[convert]") {
  const TemporaryFolder folder;
  for (const char* family : {"smollm2", "gpt2", "tinyllama-sharded"}) {
    INFO(family);
    const fs::path from = checkpoints() / family, to = folder / family;
    CHECK_FALSE(convert_model(from, to, {.type = WeightType::f32}).rounded);
    check_same_tensors(from, to);
    Json before = Json::parse(testing::read_bytes(from / "config.json"));
    const Json after = Json::parse(testing::read_bytes(to / "config.json"));
    CHECK(after["torch_dtype"] == "float32");
    before.erase("dtype");
    before["torch_dtype"] = "float32";
    CHECK(before == after);
    CHECK(fs::exists(from / "tokenizer.json") == fs::exists(to / "tokenizer.json"));
  }
}

TEST_CASE("numbers that a type cannot hold are refused by tensor", "[convert]") {
  const TemporaryFolder folder;
  const GgufFile file(checkpoints() / "llama2-gqa.gguf");
  StoredTensors tensors;
  for (const std::string& name : file.names()) {
    if (name != "blk.1.ffn_up.weight") tensors.emplace_back(name, file.read(name));
    else tensors.emplace_back(name, engine::Tensor::full(file.shape(name), 1e5));
  }
  write_gguf(folder / "large.gguf", {file.metadata().all().begin(), file.metadata().all().end()}, tensors);
  CHECK_THAT(refusal(folder / "large.gguf", folder / "m.gguf", {.type = WeightType::f16}),
             contains("m.gguf: tensor 'blk.1.ffn_up.weight': holds 100000, which F16 cannot: use bf16 or f32"));
  CHECK_FALSE(fs::exists(folder / "m.gguf"));
  CHECK(refusal(folder / "large.gguf", folder / "m.gguf", {.type = WeightType::bf16}).empty());
}

TEST_CASE("a folder is cut into shards of the size that is asked for", "[convert]") {
  const TemporaryFolder folder;
  convert_model(checkpoints() / "qwen2", folder / "out", {.shard_bytes = 8000});
  const Json index = Json::parse(testing::read_bytes(folder / "out/model.safetensors.index.json"));
  std::set<std::string> shards;
  for (const Json& shard : index["weight_map"]) shards.insert(shard.get<std::string>());
  CHECK(shards.size() > 3);
  for (const std::string& shard : shards) CHECK(fs::file_size(folder / "out" / shard) < 8000 + 2000);
  CHECK(index["weight_map"].size() == ModelFiles::open(checkpoints() / "qwen2")->tensors().names().size());
  check_same_tensors(checkpoints() / "qwen2", folder / "out");
}

TEST_CASE("what is there is replaced only with force, and only by its like", "[convert]") {
  const TemporaryFolder folder;
  const fs::path from = checkpoints() / "smollm2";
  testing::write_bytes(folder / "m.gguf", "precious");
  CHECK_THAT(refusal(from, folder / "m.gguf"), contains("m.gguf: exists; --force replaces it"));
  CHECK(testing::read_bytes(folder / "m.gguf") == "precious");
  convert_model(from, folder / "m.gguf", {.force = true});
  CHECK(testing::read_bytes(folder / "m.gguf").substr(0, 4) == "GGUF");

  convert_model(folder / "m.gguf", folder / "out");
  CHECK_THAT(refusal(from, folder / "out"), contains("out: exists; --force replaces it"));
  testing::write_bytes(folder / "out/model-00001-of-00002.safetensors", "of before");
  convert_model(from, folder / "out", {.force = true});
  CHECK_FALSE(fs::exists(folder / "out/model-00001-of-00002.safetensors"));
  testing::write_bytes(folder / "out/thesis.tex", "mine");
  CHECK_THAT(refusal(from, folder / "out", {.force = true}),
             contains("holds 'thesis.tex', which is no file of a model"));
  CHECK(fs::exists(folder / "out/thesis.tex"));
  CHECK_THAT(refusal(folder / "out", folder / "out", {.force = true}), contains("is the model itself"));
  CHECK_THAT(refusal(from, folder / "m.gguf/out"), contains("cannot be written"));
  CHECK_THAT(refusal(from, folder / "out", {.type = WeightType::q8_0}), contains("a folder holds f32, f16 or bf16"));
  // Nothing else is left.
  size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) entries += entry.exists() ? 1 : 0;
  CHECK(entries == 2);
}

TEST_CASE("what the other format cannot say is refused by name", "[convert]") {
  const TemporaryFolder folder;
  const auto changed = [&](const char* family, const char* key, const Json& value) {
    const fs::path copy = folder / fmt::format("{}-{}", family, key);
    fs::copy(checkpoints() / family, copy);
    Json config = Json::parse(testing::read_bytes(copy / "config.json"));
    config[key] = value;
    testing::write_bytes(copy / "config.json", config.dump());
    return refusal(copy, folder / "m.gguf");
  };
  CHECK_THAT(changed("gpt2", "activation_function", "relu"), contains("activation relu: a GGUF file of gpt2 means"));
  CHECK_THAT(changed("llama1", "hidden_act", "gelu"), contains("is not run here, so that no copy can be compared"));
  CHECK_FALSE(fs::exists(folder / "m.gguf"));
}

}  // namespace headroom::models
