#include <fmt/ranges.h>

#include <algorithm>

#include "engine/error.h"
#include "models/checkpoints/hugging_face_folder.h"
#include "models/checkpoints/model_files.h"
#include "models/files/json.h"
#include "models/files/regular_file.h"
#include "models/hugging_face/config.h"
#include "models/tokenizers/folder_config.h"
#include "models/tokenizers/text_start.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// One id or a list of them, appended; null is none. What is no token of the vocabulary goes to the warnings instead.
void append_ids(const Json& object, const char* key, const fs::path& path, ModelDescription& model,
                std::vector<int64_t>& ids) {
  const Json& given = member(object, key);
  if (given.is_null()) return;
  for (const Json& id : given.is_array() ? given : Json::array({given})) {
    const int64_t vocab = model.config.vocab;
    require(id.is_number_integer(), "{}: {}: {} is no token of the vocabulary of {}", path.string(), key, shown(id),
            vocab);
    if (id.get<int64_t>() < 0 || id.get<int64_t>() >= vocab) {
      model.warnings.push_back(
          fmt::format("{}: {}: {} is no token of the vocabulary of {}", path.string(), key, shown(id), vocab));
      continue;
    }
    if (std::find(ids.begin(), ids.end(), id.get<int64_t>()) == ids.end()) ids.push_back(id.get<int64_t>());
  }
}

/// The Jinja template of tokenizer_config.json, the one called "default" where it has several, or of a file of its own.
std::string chat_template_of(const fs::path& folder, const Json& tokenizer_config) {
  const Json& given = member(tokenizer_config, "chat_template");
  if (given.is_string()) return given.get<std::string>();
  for (const Json& named : given.is_array() ? given : Json::array())
    if (member(named, "name") == "default" && member(named, "template").is_string())
      return named["template"].get<std::string>();
  const fs::path file = folder / "chat_template.jinja";
  std::error_code unreadable;
  return fs::exists(file, unreadable) ? read_file(file, {"chat template", uint64_t{1} << 24}) : "";
}

/// Says which added tokens have no embedding: such as a [PAD] that a tokenizer got later.
void note_unembedded(const fs::path& folder, ModelDescription& model) {
  const fs::path path = folder / "tokenizer.json";
  const Json tokenizer = read_optional_object(path);
  const Json& added = member(tokenizer, "added_tokens");
  std::string names;
  for (const Json& token : added.is_array() ? added : Json::array()) {
    const bool is_token = member(token, "id").is_number_integer() && member(token, "content").is_string();
    if (is_token && token["id"] >= model.config.vocab && names.size() < 200)
      names += (names.empty() ? "" : ", ") + quoted_name(token["content"].get<std::string>());
  }
  if (!names.empty())
    model.warnings.push_back(
        fmt::format("{}: {}: the model has no embedding for it; a text with it is an error", path.string(), names));
}

ModelDescription describe_folder(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const Json config = read_json(path);
  HuggingFaceModel read = read_hugging_face(config, path.string());
  ModelDescription model;
  model.name = fs::weakly_canonical(folder).filename().string();
  model.family = read.model_type;
  model.config = std::move(read.config);
  model.context = model.config.max_length;
  model.not_run = std::move(read.not_run);
  model.warnings = std::move(read.warnings);
  read_folder_specials(folder, config, model);
  note_unembedded(folder, model);
  return model;
}

class HuggingFaceFolder : public ModelFiles {
 public:
  HuggingFaceFolder(const fs::path& folder, ModelDescription description,
                    std::shared_ptr<const SafetensorsFolder> store)
      : ModelFiles(folder, std::move(description)), store_(std::move(store)) {}
  const TensorStore& tensors() const override { return *store_; }
  NameScheme scheme() const override {
    return description().config.pooling == Pooling::last ? NameScheme::hugging_face_classifier : family().tensors;
  }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override {
    return std::make_unique<PretrainedWeights>(store_, scheme(), options.keep, options.weights, family().is_fused());
  }
  bool has_tokenizer() const override { return folder_has_tokenizer(path()); }
  Vocabulary vocabulary() const override { return load_vocabulary(path()); }

 private:
  const Family& family() const { return family_named(description().family); }

  std::shared_ptr<const SafetensorsFolder> store_;
};

}  // namespace

void read_folder_specials(const fs::path& folder, const Json& config, ModelDescription& model) {
  const fs::path path = folder / "config.json", generation = folder / "generation_config.json";
  const FolderConfig tokenizer = read_folder_config(folder);
  std::vector<int64_t> bos;
  append_ids(config, "bos_token_id", path, model, bos);
  const TextStart start =
      text_start_of_folder(folder, tokenizer, bos.empty() ? std::nullopt : std::optional<int64_t>(bos[0]));
  for (const auto& put : {start.begin, start.end})
    require(!put || *put < model.config.vocab,
            "{}: the tokenizer puts token {} around every text; the vocabulary has {}", folder.string(),
            put.value_or(0), model.config.vocab);
  model.bos = start.bos && *start.bos < model.config.vocab ? start.bos : std::nullopt;
  model.add_bos = start.begin.has_value(), model.text_end = start.end;
  append_ids(read_optional_object(generation), "eos_token_id", generation, model, model.eos);
  append_ids(config, "eos_token_id", path, model, model.eos);
  model.eos_text = tokenizer.said("eos_token").value_or("");
  model.chat_template = chat_template_of(folder, tokenizer.tokenizer);
}

std::unique_ptr<ModelFiles> open_hugging_face(const fs::path& folder) {
  ModelDescription model = describe_folder(folder);
  std::shared_ptr<const SafetensorsFolder> store;
  try {
    store = folder_tensors(folder, model);
  } catch (const Error&) {
    // Tensors of a type that is not read are what config.json says of them.
    require(model.not_run.empty(), "{}: is not run here: {}", folder.string(), fmt::join(model.not_run, "; "));
    throw;
  }
  return std::make_unique<HuggingFaceFolder>(folder, std::move(model), std::move(store));
}

}  // namespace headroom::models
