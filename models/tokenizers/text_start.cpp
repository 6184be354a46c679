#include "models/tokenizers/text_start.h"

#include <algorithm>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/tokenizers/folder_config.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/vocabulary.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The first id that `tokens`, a list of {"id", "content"}, gives a text.
std::optional<int64_t> id_in(const Json& tokens, const std::string& text) {
  for (const Json& token : tokens.is_array() ? tokens : Json::array())
    if (const auto id = token_id(member(token, "id")); id && member(token, "content") == text) return id;
  return std::nullopt;
}

std::optional<int64_t> id_in_vocabulary(const Json& vocabulary, const std::string& text) {
  return token_id(member(vocabulary, text.c_str()));
}

/// The id of a token of the folder's tokenizer, by its text.
std::optional<int64_t> id_of_text(const fs::path& folder, const Json& tokenizer, const FolderConfig& config,
                                  const std::string& text) {
  for (const AddedToken& token : config.added)
    if (token.text == text) return token.id;
  if (const auto id = id_in(member(tokenizer, "added_tokens"), text)) return id;
  if (!tokenizer.empty()) return id_in_vocabulary(member(member(tokenizer, "model"), "vocab"), text);
  std::error_code unreadable;
  if (const fs::path pair = folder / "vocab.json"; fs::exists(pair, unreadable))
    return id_in_vocabulary(read_json(pair), text);
  const fs::path model = folder / "tokenizer.model";
  if (!fs::exists(model, unreadable) || !is_sentencepiece(model)) return std::nullopt;
  const std::vector<SentencePiece> pieces = parse_sentencepiece(MappedFile(model, tokenizer_file).text()).pieces;
  const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const auto& piece) { return piece.text == text; });
  return found == pieces.end() ? std::nullopt : std::optional<int64_t>(found - pieces.begin());
}

/// The template among the post-processor's steps: the last one counts, as it sees what the others made.
Json template_in(const Json& processor) {
  if (member(processor, "type") == "TemplateProcessing") return processor;
  Json found;
  if (member(processor, "type") == "Sequence")
    for (const Json& step : member(processor, "processors"))
      if (const Json own = template_in(step); !own.is_null()) found = own;
  return found;
}

/// The ids that a step of a template stands for: [{"SpecialToken": {"id": "<s>"}}, …], special_tokens: {"<s>": {ids}}.
void read_template(const Json& own, TextStart& start) {
  bool is_before = true;
  for (const Json& step : member(own, "single")) {
    if (!member(step, "SpecialToken").is_object()) {
      is_before = false;
      continue;
    }
    const Json name = member(step["SpecialToken"], "id");
    require(name.is_string(), "post_processor: a special token is {}, expected a name", shown(name));
    const Json ids = member(member(member(own, "special_tokens"), name.get<std::string>().c_str()), "ids");
    std::optional<int64_t>& place = is_before ? start.begin : start.end;
    const auto id = ids.is_array() && ids.size() == 1 ? token_id(ids[0]) : std::nullopt;
    require(id.has_value(), "post_processor: special token {} has ids {}, expected one", quoted_name(name), shown(ids));
    require(!place, "post_processor: puts several tokens {} every text; one is supported",
            is_before ? "before" : "after");
    place = id;
  }
}

}  // namespace

TextStart text_start_of_folder(const fs::path& folder, const FolderConfig& config, std::optional<int64_t> config_bos) {
  TextStart start;
  const Json tokenizer = read_optional_object(folder / "tokenizer.json");
  const auto id_named = [&](const char* key, std::optional<int64_t> otherwise) {
    const auto text = config.named(key);
    const auto id = text ? id_of_text(folder, tokenizer, config, *text) : std::nullopt;
    return id ? id : otherwise;
  };
  if (!tokenizer.empty()) {
    naming((folder / "tokenizer.json").string(),
           [&] { read_template(template_in(member(tokenizer, "post_processor")), start); });
  } else {
    if (config.flag("add_bos_token") && config.named("bos_token")) {
      start.begin = id_named("bos_token", config_bos);
      require(start.begin.has_value(),
              "{}: add_bos_token puts {} before every text, and the tokenizer has no such token",
              (folder / "tokenizer_config.json").string(), quoted_name(config.named("bos_token").value_or("")));
    }
    if (config.flag("add_eos_token")) start.end = id_named("eos_token", std::nullopt);
  }
  start.bos = start.begin ? start.begin : id_named("bos_token", config_bos);
  return start;
}

std::optional<int64_t> gguf_usual_id(const GgufMetadata& metadata, bool is_bos) {
  const std::string kind = metadata.text("tokenizer.ggml.model", "");
  if (kind == gguf_sentencepiece) return is_bos ? 1 : 2;
  return kind == gguf_byte_level ? std::optional<int64_t>(11) : std::nullopt;
}

std::optional<int64_t> gguf_special(const GgufMetadata& metadata, const char* key, int64_t vocab,
                                    std::optional<int64_t> usual, std::vector<std::string>& notes) {
  const std::string full = fmt::format("tokenizer.ggml.{}_token_id", key);
  const std::optional<int64_t> id = metadata.integer(full);
  if (!id || (*id >= 0 && *id < vocab)) return id;
  if (usual && *usual >= vocab) usual.reset();
  notes.push_back(fmt::format("{}: {} is no token of the vocabulary of {}: {} is taken, as llama.cpp does", full, *id,
                              vocab, usual ? fmt::format("{}", *usual) : "none"));
  return usual;
}

TextStart text_start_of_gguf(const GgufMetadata& metadata, int64_t vocab) {
  TextStart start;
  const std::string kind = metadata.text("tokenizer.ggml.model", "");
  bool begins = kind == gguf_sentencepiece;
  if (kind == gguf_byte_level) {
    const PreTokenizer* pre = pre_tokenizer_named(metadata.text("tokenizer.ggml.pre", default_pre_tokenizer));
    begins = pre != nullptr && pre->begins;
    if (!metadata.contains("tokenizer.ggml.pre"))
      start.notes.push_back(
          "tokenizer.ggml.pre is missing: texts are cut by llama.cpp's default, which is likely not the model's own; "
          "convert the model again");
  }
  start.bos = gguf_special(metadata, "bos", vocab, gguf_usual_id(metadata, true), start.notes);
  const auto put = [&](const char* name, bool otherwise, std::optional<int64_t> id) -> std::optional<int64_t> {
    const std::string key = fmt::format("tokenizer.ggml.add_{}_token", name);
    if (!metadata.flag(key, otherwise)) return std::nullopt;
    if (!id) id = gguf_usual_id(metadata, name == std::string_view("bos"));
    if (!id || *id >= vocab)
      metadata.complain(key, fmt::format("is true, and {}_token_id is missing or no token of the vocabulary", name));
    return id;
  };
  start.begin = put("bos", begins, start.bos);
  std::vector<std::string> none;
  start.end = put("eos", false, gguf_special(metadata, "eos", vocab, gguf_usual_id(metadata, false), none));
  if (start.begin) start.bos = start.begin;
  return start;
}

}  // namespace headroom::models
