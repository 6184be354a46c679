// Tokenizers go with their models from folder to GGUF file and back.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "models/safetensors/safetensors.h"
#include "models/tokenizers/load.h"
#include "models/write/convert.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::contains;
using testing::error_of;
using testing::TemporaryFolder;

/// A folder with a llama of one layer and that many tokens, and no tokenizer.
void write_small_llama(const fs::path& folder, int64_t vocab) {
  fs::create_directories(folder);
  testing::write_bytes(folder / "config.json", Json{{"model_type", "llama"},
                                                    {"hidden_size", 8},
                                                    {"intermediate_size", 8},
                                                    {"num_hidden_layers", 1},
                                                    {"num_attention_heads", 2},
                                                    {"vocab_size", vocab},
                                                    {"bos_token_id", 1},
                                                    {"eos_token_id", {2, 1}},
                                                    {"tie_word_embeddings", true}}
                                                   .dump());
  NamedTensors tensors;
  const auto add = [&](const std::string& name, const engine::Shape& shape) {
    std::vector<float> values;
    for (int64_t i = 0; i < shape.numel(); ++i)
      values.push_back(static_cast<float>((i * 37 + static_cast<int64_t>(name.size())) % 19 - 9) / 16);
    tensors.emplace_back(name, engine::Tensor::from(shape, values));
  };
  add("model.embed_tokens.weight", {vocab, 8});
  add("model.norm.weight", {8});
  for (const char* name : {"input_layernorm", "post_attention_layernorm"})
    add(fmt::format("model.layers.0.{}.weight", name), {8});
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                           "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    add(fmt::format("model.layers.0.{}.weight", name), {8, 8});
  write_safetensors(folder / "model.safetensors", tensors);
}

Json cases() {
  return Json::parse(testing::read_bytes(testing::source_root() + std::string("/tests/models/tokenizers/cases.json")));
}

/// The tokenizer.json of one of the cases.
Json tokenizer_json(const Json& all, const std::string& name) {
  for (const Json& example : all["cases"]) {
    if (example["name"] != name) continue;
    Json whole = {{"version", "1.0"}, {"model", all["bases"][example["base"].get<std::string>()]}};
    for (const auto& [key, value] : example["patch"].items()) {
      if (key == "model") whole["model"].update(value);
      else whole[key] = value;
    }
    return whole;
  }
  FAIL("no case " << name);
  return {};
}

std::vector<int32_t> ids_of(const fs::path& model, const std::string& text) {
  return ModelFiles::open(model)->tokenizer()->encode(text);
}

}  // namespace

TEST_CASE("byte-level vocabularies go to a GGUF file and back", "[convert]") {
  const Json all = cases();
  for (const char* name : {"GPT-2", "SmolLM2", "Llama 3", "Qwen 2"}) {
    INFO(name);
    const TemporaryFolder folder;
    Json json = tokenizer_json(all, name);
    const auto begin = json["added_tokens"][0]["content"].get<std::string>();
    const auto begin_id = json["added_tokens"][0]["id"].get<int64_t>();
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", {{{"SpecialToken", {{"id", begin}}}}, {{"Sequence", {{"id", "A"}}}}}},
                              {"special_tokens", {{begin, {{"ids", {begin_id}}}}}}};
    const auto tokens = static_cast<int64_t>(json["model"]["vocab"].size()) + 2;
    write_small_llama(folder / "from", tokens + 5);  // some rows are padding
    testing::write_bytes(folder / "from/tokenizer.json", json.dump());
    testing::write_bytes(folder / "from/tokenizer_config.json",
                         R"({"eos_token": {"content": ")" + begin + R"("}, "chat_template": "{{ messages }}"})");
    const Conversion there = convert_model(folder / "from", folder / "m.gguf");
    convert_model(folder / "m.gguf", folder / "back");
    const auto first = ModelFiles::open(folder / "from")->tokenizer(), gguf = load_tokenizer(folder / "m.gguf"),
               last = ModelFiles::open(folder / "back")->tokenizer();
    size_t same = 0;
    for (const Json& text : all["strings"]) {
      const auto ids = first->encode(text.get<std::string>());
      same += ids == gguf->encode(text.get<std::string>()) && ids == last->encode(text.get<std::string>()) ? 1 : 0;
    }
    CHECK(same == all["strings"].size());
    CHECK(gguf->vocab_size() == tokens + 5);
    CHECK(last->vocab_size() == tokens);
    const ModelDescription model = ModelFiles::open(folder / "back")->description();
    CHECK(model.bos == begin_id);  // the template's, not config.json's
    CHECK(model.eos == std::vector<int64_t>{2, 1});
    CHECK(model.add_bos);
    CHECK(model.chat_template == "{{ messages }}");
  }
}

TEST_CASE("vocabularies of characters become SentencePiece models", "[convert]") {
  const Json all = cases();
  for (const char* name : {"Llama 2", "TinyLlama, Mistral", "Metaspace, never"}) {
    INFO(name);
    const TemporaryFolder folder;
    Json json = tokenizer_json(all, name);
    // SentencePiece's own tokens hold no space but at their start; those of this case may.
    if (json["pre_tokenizer"].is_object()) json["pre_tokenizer"]["split"] = false;
    write_small_llama(folder / "from", static_cast<int64_t>(json["model"]["vocab"].size()));
    testing::write_bytes(folder / "from/tokenizer.json", json.dump());
    convert_model(folder / "from", folder / "m.gguf");
    convert_model(folder / "m.gguf", folder / "back");
    CHECK(fs::exists(folder / "back/tokenizer.model"));
    // A SentencePiece model does not find special tokens in texts.
    size_t compared = 0, same = 0;
    for (const Json& json_text : all["strings"]) {
      const auto text = json_text.get<std::string>();
      if (text.find("<s>") != std::string::npos || text.find("</s>") != std::string::npos) continue;
      // The Prepend normalizer puts a space before one; Metaspace and Llama's class do not.
      if (std::string(name) == "TinyLlama, Mistral" && (text.starts_with(' ') || text.starts_with("\u2581"))) continue;
      ++compared;
      same += ids_of(folder / "from", text) == ids_of(folder / "back", text) ? 1 : 0;
    }
    CHECK(compared > 25);
    CHECK(same == compared);
    // And from a .model file to a GGUF file again.
    convert_model(folder / "back", folder / "again.gguf");
    CHECK(GgufFile(folder / "again.gguf").metadata().texts("tokenizer.ggml.tokens") ==
          GgufFile(folder / "m.gguf").metadata().texts("tokenizer.ggml.tokens"));
  }
}

TEST_CASE("tokenizers that a GGUF file has no words for are refused", "[convert]") {
  const TemporaryFolder folder;
  Json json = tokenizer_json(cases(), "GPT-2");
  write_small_llama(folder / "from", static_cast<int64_t>(json["model"]["vocab"].size()) + 2);
  const auto refusal = [&](const char* key, const Json& value) {
    Json changed = json;
    changed[key] = value;
    testing::write_bytes(folder / "from/tokenizer.json", changed.dump());
    return error_of([&] { convert_model(folder / "from", folder / "m.gguf"); });
  };
  CHECK_THAT(refusal("normalizer", {{"type", "NFKC"}}),
             contains("GGUF files cannot say that text is normalized to NFKC"));
  const Json words = {{"type", "Split"}, {"pattern", {{"Regex", "\\w+"}}}, {"behavior", "Isolated"}, {"invert", false}};
  CHECK_THAT(refusal("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {words, {{"type", "ByteLevel"}}}}}),
             contains("have no name for the way in which its pre_tokenizer cuts a text"));
  CHECK_FALSE(fs::exists(folder / "m.gguf"));
}

TEST_CASE("another model's tokenizer is refused, naming both", "[pretrained]") {
  const TemporaryFolder folder;
  const Json json = tokenizer_json(cases(), "GPT-2");
  const auto tokens = static_cast<int64_t>(json["model"]["vocab"].size()) + 2;
  const auto refusal = [&](int64_t rows) {
    write_small_llama(folder / "m", rows);
    testing::write_bytes(folder / "m/tokenizer.json", json.dump());
    return error_of([&] { ModelFiles::open(folder / "m")->tokenizer(); });
  };
  CHECK(refusal(tokens).empty());
  CHECK(refusal(tokens + 20).empty());
  CHECK_THAT(refusal(tokens - 3), contains("tokenizer.json: the tokenizer has") && contains("it is another model's"));
  CHECK_THAT(refusal(2 * tokens), contains(fmt::format("/m has {} embeddings", 2 * tokens)));
}

TEST_CASE("an added token without an embedding is an error in a text alone", "[pretrained]") {
  const TemporaryFolder folder;
  Json json = tokenizer_json(cases(), "GPT-2");
  const auto tokens = static_cast<int64_t>(json["model"]["vocab"].size()) + 2;
  write_small_llama(folder / "m", tokens);
  json["added_tokens"].push_back({{"id", tokens}, {"content", "[PAD]"}, {"special", true}});
  testing::write_bytes(folder / "m/tokenizer.json", json.dump());
  const auto tokenizer = ModelFiles::open(folder / "m")->tokenizer();
  CHECK(tokenizer->vocab_size() == tokens);
  CHECK_FALSE(tokenizer->encode("a text").empty());
  CHECK_FALSE(tokenizer->encode("a [PAD] text", Specials::plain).empty());
  CHECK_THAT(error_of([&] { (void)tokenizer->encode("a [PAD] text"); }),
             contains(fmt::format("the text has '[PAD]', token {}, and the model has embeddings for {} tokens only",
                                  tokens, tokens)));
}

}  // namespace headroom::models
