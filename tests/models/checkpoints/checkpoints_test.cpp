// Trained models in the layouts of every family that is read: make_checkpoints.py has written them, and their logits
// by transformers.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/checkpoints/compact_store.h"
#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "models/model_cache.h"
#include "models/safetensors/safetensors.h"
#include "models/tokenizers/sentencepiece_model.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::apart;
using testing::checkpoints;
using testing::contains;
using testing::error_of;

/// transformers' f32 against ours: the largest difference of logits that are about 5 in size.
constexpr double tolerance = 1e-4;

Tensor tokens_of(const Json& fixture) {
  const auto ids = fixture["ids"].get<std::vector<int64_t>>();
  return Tensor::from({1, static_cast<int64_t>(ids.size())}, ids);  // (1, T)
}

/// Largest difference between logits (1, T, V) and a fixture's, from its row `first` on.
double distance_to(const Json& fixture, const Tensor& logits, size_t first = 0) {
  const std::vector<double> ours = logits.to_vector<double>();
  double worst = 0;
  size_t i = 0;
  for (size_t row = first; row < fixture["logits"].size(); ++row)
    for (const Json& theirs : fixture["logits"][row]) worst = std::max(worst, apart(ours[i++], theirs.get<double>()));
  REQUIRE(i == ours.size());
  return worst;
}

void check_logits(const fs::path& path, const Json& fixture) {
  INFO(path.filename().string());
  const auto files = ModelFiles::open(path);
  const Tensor tokens = tokens_of(fixture);
  for (const Keep keep : {Keep::computed, Keep::stored}) {
    const auto model = files->load({.keep = keep});
    CHECK(distance_to(fixture, model->forward(tokens).value()) < tolerance);
    // With a cache: a prompt, then token by token; of the prompt only the last logits.
    ModelCache state(model->config());
    const int64_t prompt = 20, length = tokens.dim(1);
    CHECK(distance_to({{"logits", {fixture["logits"][prompt - 1]}}},
                      model->decode(tokens.slice(1, 0, prompt), state, {}, 1)) < tolerance);
    for (int64_t t = prompt; t < length; ++t)
      CHECK(distance_to({{"logits", {fixture["logits"][static_cast<size_t>(t)]}}},
                        model->decode(tokens.slice(1, t, t + 1), state)) < tolerance);
  }
  const auto in_f64 =
      files->load({.keep = Keep::computed, .weights = {.dtype = engine::DType::f64, .is_trained = none_trained}});
  CHECK(distance_to(fixture, in_f64->forward(tokens).value()) < tolerance);
}

Json fixtures() { return Json::parse(testing::read_bytes(checkpoints() / "logits.json")); }

/// A copy of a checkpoint's folder that a test may spoil.
class Copy {
 public:
  explicit Copy(const std::string& name) : path_(folder_ / name) { fs::copy(checkpoints() / name, path_); }
  const fs::path& path() const { return path_; }
  Json json(const char* file) const { return Json::parse(testing::read_bytes(path_ / file)); }
  void write(const char* file, const Json& json) const { testing::write_bytes(path_ / file, json.dump()); }
  void set(const char* key, const Json& value) const {
    Json config = json("config.json");
    config[key] = value;
    write("config.json", config);
  }
  /// What is said when it is loaded.
  std::string refusal() const {
    return error_of([&] { ModelFiles::open(path_)->load(); });
  }

 private:
  testing::TemporaryFolder folder_;
  fs::path path_;
};

}  // namespace

TEST_CASE("every family's logits are those of transformers", "[pretrained]") {
  const Json all = fixtures();
  REQUIRE(all.size() == 14);
  for (const auto& [name, fixture] : all.items()) check_logits(checkpoints() / name, fixture);
}

TEST_CASE("GGUF files of the same weights have the same logits", "[pretrained]") {
  const Json all = fixtures();
  for (const char* name : {"llama2-gqa", "llama3.1", "qwen2", "qwen3", "gpt2", "gemma3"})
    check_logits(checkpoints() / (std::string(name) + ".gguf"), all[name]);
}

TEST_CASE("bf16 weights are near, and as they are where the file has them", "[pretrained]") {
  const Json all = fixtures();
  const auto distance = [&](const char* name) {
    const auto model = ModelFiles::open(checkpoints() / name)->load({.keep = Keep::bf16});
    return distance_to(all[name], model->forward(tokens_of(all[name])).value());
  };
  CHECK(distance("smollm2") < tolerance);
  CHECK(distance("llama1") > tolerance);
  CHECK(distance("llama1") < 0.2);
}

TEST_CASE("layer by layer is all at once, and an observer sees every head", "[pretrained]") {
  const Json all = fixtures();
  const auto model = ModelFiles::open(checkpoints() / "llama2-gqa")->load();
  const Tensor tokens = tokens_of(all["llama2-gqa"]);
  std::vector<AttentionInputs> seen;
  ForwardContext context;
  context.observer = [&](const AttentionInputs& inputs) { seen.push_back(inputs); };
  const autograd::NoGrad no_grad;
  autograd::Var h = model->embed(tokens);
  for (size_t layer = 0; layer < 2; ++layer) h = model->layer(layer, h, context);
  CHECK(distance_to(all["llama2-gqa"], model->readout(h).value()) < tolerance);
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].layer == 1);
  CHECK(seen[1].q.shape() == Shape{1, 28, 6, 4});
  CHECK(seen[1].k.shape() == Shape{1, 28, 2, 4});
  CHECK(seen[1].x.shape() == Shape{1, 28, 24});
  CHECK(seen[1].options.scale == 0.5);
  // Position 0 does not turn.
  CHECK(seen[0].q.value().slice(1, 0, 1).to_vector<double>() == seen[0].raw_q.slice(1, 0, 1).to_vector<double>());
  CHECK(seen[0].q.value().to_vector<double>() != seen[0].raw_q.to_vector<double>());
}

TEST_CASE("a sliding window in a GGUF file hides what lies before it", "[pretrained]") {
  const GgufFile file(checkpoints() / "llama2-gqa.gguf");
  GgufPairs metadata(file.metadata().all().begin(), file.metadata().all().end());
  metadata.push_back({"llama.attention.sliding_window",
                      {.type = GgufValueType::u32, .is_array = false, .items = std::vector<int64_t>{8}}});
  StoredTensors tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.read(name));
  const testing::TemporaryFolder folder;
  write_gguf(folder / "m.gguf", metadata, tensors);
  const auto whole = ModelFiles::open(checkpoints() / "llama2-gqa.gguf")->load();
  const auto windowed = ModelFiles::open(folder / "m.gguf")->load();
  const Tensor tokens = tokens_of(fixtures()["llama2-gqa"]);
  const std::vector<double> x = whole->forward(tokens).value().to_vector<double>(),
                            y = windowed->forward(tokens).value().to_vector<double>();
  const size_t shown = 8 * 37;
  CHECK(std::equal(x.begin(), x.begin() + shown, y.begin()));
  CHECK_FALSE(std::equal(x.begin() + shown, x.begin() + shown + 37, y.begin() + shown));
}

TEST_CASE("special tokens that a vocabulary lacks are warnings where nothing needs them", "[pretrained]") {
  const Copy copy("llama2-gqa");
  copy.set("bos_token_id", 50256);
  copy.set("eos_token_id", {2, 50256});
  const ModelDescription model = ModelFiles::open(copy.path())->description();
  REQUIRE(model.warnings.size() == 2);
  CHECK_THAT(model.warnings[0], contains("config.json: bos_token_id: 50256 is no token of the vocabulary of 37"));
  CHECK_THAT(model.warnings[1], contains("eos_token_id: 50256"));
  CHECK_FALSE(model.bos);
  CHECK(model.eos == std::vector<int64_t>{2});
  CHECK(copy.refusal().empty());
  copy.write("tokenizer_config.json", {{"add_bos_token", true}});
  CHECK_THAT(copy.refusal(),
             contains("add_bos_token puts '<s>' before every text, and the tokenizer has no such token"));
}

TEST_CASE("Gemma's files say which layers have a window", "[pretrained]") {
  const ModelDescription folder = ModelFiles::open(checkpoints() / "gemma3")->description(),
                         file = ModelFiles::open(checkpoints() / "gemma3.gguf")->description();
  for (const ModelDescription* model : {&folder, &file}) {
    const TransformerConfig& c = model->config;
    CHECK(c.window == 5);
    CHECK(c.full_layers == std::vector<int64_t>{2});
    CHECK(c.rope_base == 1e5);
    CHECK(c.window_rope_base == 100);
    CHECK(c.norm_place == NormPlace::both);
    CHECK_FALSE(c.logit_scale);
    CHECK(model->context == 64);
  }
  const GgufFile gguf(checkpoints() / "gemma3.gguf");
  GgufPairs metadata;
  for (const auto& [key, value] : gguf.metadata().all()) metadata.emplace_back(key, value);
  StoredTensors tensors;
  for (const std::string& name : gguf.names()) tensors.emplace_back(name, gguf.read(name));
  const testing::TemporaryFolder copy;
  const auto with_pattern = [&](const GgufValue& pattern) {
    for (auto& [key, value] : metadata)
      if (key == "gemma3.attention.sliding_window_pattern") value = pattern;
    write_gguf(copy / "m.gguf", metadata, tensors);
    return ModelFiles::open(copy / "m.gguf")->description().config.full_layers;
  };
  const auto list = [](std::vector<int64_t> windows) {
    return GgufValue{.type = GgufValueType::boolean, .is_array = true, .items = std::move(windows)};
  };
  CHECK(with_pattern(list({0, 1, 1, 0})) == std::vector<int64_t>{0, 3});
  CHECK_THAT(error_of([&] { with_pattern(list({0, 1})); }), contains("has 2 entries for 4 layers"));
  CHECK_THAT(error_of([&] { with_pattern(list({})); }), contains("sliding_window_pattern"));
}

TEST_CASE("a folder whose files contradict each other is refused by file and field", "[pretrained]") {
  const Copy copy("llama2-gqa");
  copy.set("num_key_value_heads", 3);
  CHECK_THAT(copy.refusal(), contains("model.safetensors: tensor 'model.layers.0.self_attn.k_proj.weight' is F16 (8, "
                                      "24), the model needs (12, 24)"));
  copy.set("num_key_value_heads", 2);
  copy.set("num_hidden_layers", 3);
  CHECK_THAT(copy.refusal(), contains("has no tensor 'model.layers.2.input_layernorm.weight'"));
  copy.set("num_hidden_layers", 1);
  CHECK_THAT(copy.refusal(), contains("is no weight of this model"));
  copy.set("num_hidden_layers", 2);
  copy.set("rope_parameters", {{"rope_type", "ntk"}, {"rope_theta", 1e4}, {"factor", 2}});
  CHECK_THAT(copy.refusal(), contains("is not run here") && contains("ntk"));
  copy.set("rope_parameters", nullptr);
  copy.set("eos_token_id", "none");
  CHECK_THAT(copy.refusal(),
             contains("config.json: eos_token_id: ") && contains("is no token of the vocabulary of 37"));
  fs::remove(copy.path() / "config.json");
  CHECK_THAT(copy.refusal(), contains("is not a model's folder: it has no config.json"));
  CHECK_THAT(error_of([&] { ModelFiles::open(copy.path() / "absent"); }), contains("there is no such model"));
}

TEST_CASE("a copied head is left out, one that differs is used, and wrappers of names are read over", "[pretrained]") {
  const Json all = fixtures();
  for (const char* name : {"llama3.2-tied", "qwen3", "gpt2", "gemma3"}) {
    INFO(name);
    const Copy copy(name);
    if (!copy.json("config.json").value("tie_word_embeddings", true)) copy.set("tie_word_embeddings", true);
    const bool is_gpt2 = std::string(name) == "gpt2";
    const fs::path file = copy.path() / "model.safetensors";
    NamedTensors own;
    Tensor embedding;
    {
      const SafetensorsFile read(file);
      for (const std::string& tensor : read.names()) {
        if (tensor == "lm_head.weight") continue;
        own.emplace_back(tensor, read.tensor(tensor));
        if (tensor.ends_with(is_gpt2 ? "wte.weight" : "embed_tokens.weight")) embedding = own.back().second;
      }
    }
    const auto logits_of = [&](const NamedTensors& tensors, const std::string& note) {
      write_safetensors(file, tensors);
      const auto files = ModelFiles::open(copy.path());
      const std::vector<std::string>& notes = files->description().warnings;
      CHECK(notes.size() == (note.empty() ? 0 : 1));
      if (!note.empty() && !notes.empty()) CHECK_THAT(notes[0], contains(note.c_str()));
      return files->load()->forward(tokens_of(all[name])).value();
    };
    const auto with_head = [&](const Tensor& head) {
      NamedTensors tensors = own;
      tensors.emplace_back("lm_head.weight", head);
      return tensors;
    };
    const auto wrapped = [&](const std::string& prefix, bool drops_base) {
      NamedTensors tensors;
      for (const auto& [tensor, values] : own) {
        const std::string base = is_gpt2 ? "transformer." : "model.";
        tensors.emplace_back(prefix + (drops_base && tensor.starts_with(base) ? tensor.substr(base.size()) : tensor),
                             values);
      }
      return tensors;
    };
    const Tensor want = logits_of(own, "");
    const auto same = [&](const NamedTensors& tensors, const std::string& note = "") {
      return logits_of(tensors, note).to_vector<float>() == want.to_vector<float>();
    };
    CHECK(same(with_head(embedding)));
    CHECK(same(with_head(embedding.to(engine::DType::f32))));
    CHECK(same(wrapped("_orig_mod.", false), "read without _orig_mod."));
    CHECK(same(wrapped("module.", false), "read without module."));
    CHECK(same(wrapped("base_model.model.", false), "read without base_model.model."));
    CHECK(same(wrapped("module._orig_mod.", true), "read without _orig_mod. and without module."));
    CHECK(same(wrapped("", true)));
    const Tensor other = embedding.clone().to(engine::DType::f32);
    other.mutable_data<float>()[7] += 0.5F;
    CHECK_FALSE(same(with_head(other), "lm_head.weight differs from "));
    CHECK_FALSE(ModelFiles::open(copy.path())->description().config.tied);
    if (is_gpt2) continue;
    copy.set("tie_word_embeddings", false);
    write_safetensors(file, own);
    CHECK_THAT(copy.refusal(), contains("tie_word_embeddings is false and there is no lm_head.weight: if the embedding "
                                        "is the head, set it to true in"));
  }
}

TEST_CASE("a tokenizer's files say which tokens begin and end texts, or are refused by name", "[pretrained]") {
  const Copy copy("llama2-gqa");
  copy.set("bos_token_id", nullptr);
  const auto described = [&] { return ModelFiles::open(copy.path())->description(); };
  const auto special = [](const Json& id) { return Json{{"SpecialToken", {{"id", id}}}}; };
  const Json text = {{"Sequence", {{"id", "A"}}}};
  const auto with_template = [&](const Json& single, const Json& ids) {
    const Json own = {
        {"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", {{"<b>", {{"ids", ids}}}}}};
    copy.write("tokenizer.json",
               {{"post_processor", {{"type", "Sequence"}, {"processors", {{{"type", "ByteLevel"}}, own, Json()}}}}});
  };
  with_template({special("<b>"), text, special("<b>")}, {5});
  CHECK((described().bos == 5 && described().add_bos && described().text_end == 5));
  for (const Json& ids : {Json(5), Json::array(), Json{5, 6}, Json{"5"}, Json{-1}, Json{1.5}, Json{UINT64_MAX}}) {
    with_template({special("<b>"), text}, ids);
    CHECK_THAT(copy.refusal(), contains("tokenizer.json: post_processor: special token '<b>' has ids "));
  }
  with_template({special("<b>"), special("<b>"), text}, {5});
  CHECK_THAT(copy.refusal(), contains("puts several tokens before every text"));
  with_template({text, special("<b>"), special("<b>")}, {5});
  CHECK_THAT(copy.refusal(), contains("puts several tokens after every text"));
  with_template({special(3), text}, {5});
  CHECK_THAT(copy.refusal(), contains("a special token is 3, expected a name"));
  with_template({text, special("<b>")}, {99});
  CHECK_THAT(copy.refusal(), contains("the tokenizer puts token 99 around every text; the vocabulary has 37"));
  // Added tokens without an embedding are named once; others that a reader refuses are left to it.
  Json added = {{{"id", 99}, {"content", "[PAD]"}}, {{"id", 98}, {"content", 3}}, {{"id", "97"}, {"content", "x"}}, 7};
  added.push_back({{"content", "without an id"}});
  for (int id = 100; id < 200; ++id) added.push_back({{"id", id}, {"content", "a long name of a token"}});
  copy.write("tokenizer.json", {{"added_tokens", added}});
  REQUIRE(described().warnings.size() == 1);
  CHECK_THAT(described().warnings[0], contains("tokenizer.json: '[PAD]', 'a long name of a token', "));
  CHECK(described().warnings[0].size() < 600);
  fs::remove(copy.path() / "tokenizer.json");

  // Without tokenizer.json: the flags of tokenizer_config.json, and ids from wherever they are.
  const auto begin_with = [&](Json config) {
    config["add_bos_token"] = true, config["bos_token"] = {{"content", "<b>"}};
    copy.write("tokenizer_config.json", config);
    return error_of([&] { (void)described(); });
  };
  const std::string none = "add_bos_token puts '<b>' before every text, and the tokenizer has no such token";
  Json config = {{"add_eos_token", true}, {"eos_token", "<e>"}};
  for (const Json& id : {Json(-5), Json("5"), Json(UINT64_MAX)}) {
    copy.write("vocab.json", {{"<b>", id}});
    CHECK_THAT(begin_with(config), contains(none));
  }
  copy.write("vocab.json", {{"<b>", 6}, {"<e>", 7}});
  CHECK(begin_with(config).empty());
  CHECK((described().bos == 6 && described().text_end == 7));
  fs::remove(copy.path() / "vocab.json");
  testing::write_bytes(copy.path() / "tokenizer.model", "IQ== 0\n");
  CHECK_THAT(begin_with(config), contains(none));
  SentencePieceModel pieces;
  pieces.pieces = {{"<unk>", 0, PieceKind::unknown}, {"<b>", 0, PieceKind::control}};
  testing::write_bytes(copy.path() / "tokenizer.model", serialized(pieces));
  CHECK(begin_with(config).empty());
  CHECK((described().bos == 1 && !described().text_end));
  copy.write("added_tokens.json", {{"<b>", 8}, {"<e>", 9}});
  CHECK(begin_with(config).empty());
  CHECK((described().bos == 8 && described().text_end == 9));
  config["added_tokens_decoder"] = {{"10", {{"content", "<b>"}, {"special", true}}}};
  config["additional_special_tokens"] = {"<x>", {{"content", "<y>"}}, "", 3, {{"content", 3}}};
  CHECK(begin_with(config).empty());
  CHECK(described().bos == 10);
  config["added_tokens_decoder"] = {{"ten", {{"content", "<b>"}}}};
  CHECK_THAT(begin_with(config), contains("tokenizer_config.json: added token '<b>' has id 'ten'"));
  config["added_tokens_decoder"] = 3;
  copy.write("added_tokens.json", {{"<b>", -1}});
  CHECK_THAT(begin_with(config), contains("added_tokens.json: added token '<b>' has id -1"));
}

TEST_CASE("a chat template is the file's own, the default one of several, or a file beside it", "[pretrained]") {
  const Copy copy("llama2-gqa");
  const auto with = [&](const Json& shape) {
    copy.write("tokenizer_config.json", {{"chat_template", shape}});
    return ModelFiles::open(copy.path())->description().chat_template;
  };
  CHECK(with("a").empty() == false);
  testing::write_bytes(copy.path() / "chat_template.jinja", "beside");
  const Json tool = {{"name", "tool"}, {"template", "t"}}, own = {{"name", "default"}, {"template", "d"}};
  CHECK(with({tool, own}) == "d");
  for (const Json& other : {Json(3), Json::array(), Json{tool}, Json{3}, Json{{{"name", "default"}}},
                            Json{{{"name", "default"}, {"template", 3}}}, Json{{{"template", "t"}}}})
    CHECK(with(other) == "beside");
}

TEST_CASE("blocks whose sizes a compact file's metadata lies about are refused", "[pretrained]") {
  const testing::TemporaryFolder folder;
  const auto refusal = [&](const char* name, const char* entry) {
    write_safetensors(folder / "m.safetensors",
                      {{"w", Tensor::zeros({68}, engine::DType::u8)}, {"f", Tensor::zeros({4})}},
                      {{"format", "pt"}, {name, entry}});
    return error_of([&] { const CompactStore store(folder / "m.safetensors"); });
  };
  CHECK(refusal("w", "q8_0 2 32").empty());
  CHECK_THAT(refusal("x", "q8_0 2 32"), contains("m.safetensors: __metadata__: 'x': there is no such tensor"));
  CHECK_THAT(refusal("f", "q8_0 2 32"), contains("the tensor is F32, blocks are U8"));
  CHECK_THAT(refusal("w", "q8_0 2 32 1"), contains("'1' stands behind the columns"));
  CHECK_THAT(refusal("w", "q8_0 2 33"), contains("33 columns are no whole blocks of 32"));
  CHECK_THAT(refusal("w", "q8_0 3 32"), contains("68 bytes, q8_0 3 x 32 are 102"));
  for (const char* entry : {"q8_0", "q8_0 2", "q8_0 0 32", "q8_0 -2 32", "q8_0 2 x", "q8_0 99999999999999999999 32"})
    CHECK_THAT(refusal("w", entry), contains(" is no number of rows or columns"));
  CHECK_THAT(refusal("w", "q9_0 2 32"), contains("q9_0"));
}

TEST_CASE("the index decides which of several files is read", "[pretrained]") {
  const Copy copy("tinyllama-sharded"), whole("tinyllama-sharded");
  const Tensor tokens = tokens_of(fixtures()["tinyllama-sharded"]);
  const auto logits_in = [&](const fs::path& folder) {
    return ModelFiles::open(folder)->load()->forward(tokens).value().to_vector<float>();
  };
  const std::vector<float> logits = logits_in(copy.path());
  const auto before = ModelFiles::open(copy.path());
  CHECK(before->description().warnings.empty());
  NamedTensors all;
  for (const std::string& name : before->tensors().names())
    all.emplace_back(name, std::get<Tensor>(before->tensors().read(name)));
  write_safetensors(whole.path() / "model.safetensors", all);
  fs::remove(whole.path() / "model.safetensors.index.json");
  CHECK(logits_in(whole.path()) == logits);
  const std::string shard = copy.json("model.safetensors.index.json")["weight_map"]["lm_head.weight"];
  NamedTensors other;
  {
    const SafetensorsFile read(copy.path() / shard);
    for (const std::string& name : read.names()) other.emplace_back(name, read.tensor(name));
  }
  for (auto& [name, values] : other) values = Tensor::zeros(values.shape());
  write_safetensors(copy.path() / "model.safetensors", other);
  const auto beside = ModelFiles::open(copy.path());
  REQUIRE(beside->description().warnings.size() == 1);
  CHECK_THAT(beside->description().warnings[0], contains("model.safetensors: not read: model.safetensors.index.json"));
  CHECK(logits_in(copy.path()) == logits);
  // A tensor of one shard that the index puts into another file.
  Json index = copy.json("model.safetensors.index.json");
  index["weight_map"]["lm_head.weight"] = "model.safetensors";
  write_safetensors(copy.path() / "model.safetensors", {{"lm_head.weight", Tensor::zeros({37, 24})}});
  copy.write("model.safetensors.index.json", index);
  const auto overlaid = ModelFiles::open(copy.path());
  REQUIRE(overlaid->description().warnings.size() == 1);
  CHECK_THAT(overlaid->description().warnings[0], contains("1 tensors lie in more than one file"));
  const StoredTensor head = overlaid->tensors().read("lm_head.weight");
  CHECK(std::get<Tensor>(head).to(engine::DType::f32).to_vector<float>() == std::vector<float>(37 * 24));
}

TEST_CASE("an index of shards that lies is refused", "[pretrained]") {
  const Copy copy("tinyllama-sharded");
  const char* file = "model.safetensors.index.json";
  const Json index = copy.json(file);
  const auto refusal_with = [&](const std::string& tensor, const Json& shard) {
    Json changed = index;
    if (shard.is_null()) changed["weight_map"].erase(tensor);
    else changed["weight_map"][tensor] = shard;
    copy.write(file, changed);
    return copy.refusal();
  };
  CHECK(refusal_with("lm_head.weight", index["weight_map"]["lm_head.weight"]).empty());
  CHECK_THAT(refusal_with("lm_head.weight", "../x.safetensors"),
             contains("'../x.safetensors' is no name of a file in this folder"));
  CHECK_THAT(refusal_with("lm_head.weight", "/etc/passwd"), contains("is no name of a file in this folder"));
  CHECK_THAT(refusal_with("lm_head.weight", 3), contains("3 is no file name"));
  CHECK_THAT(refusal_with("lm_head.weight", "absent.safetensors"),
             contains("model.safetensors.index.json: names files that are not there: absent.safetensors: fetch them"));
  CHECK_THAT(refusal_with("lm_head.weight", nullptr), contains("weight_map: lacks tensor 'lm_head.weight'"));
  CHECK_THAT(refusal_with("more.weight", "model-00001-of-00004.safetensors"), contains("has no tensor 'more.weight'"));
  copy.write(file, {{"weight_map", 3}});
  CHECK_THAT(copy.refusal(), contains("weight_map: expected an object"));
  copy.write(file, index);
  fs::copy_file(copy.path() / "model-00001-of-00004.safetensors", copy.path() / "model-00002-of-00004.safetensors",
                fs::copy_options::overwrite_existing);
  CHECK_THAT(copy.refusal(), contains("model-0000"));
}

}  // namespace headroom::models
