#include <algorithm>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/hugging_face/config.h"
#include "models/pretrained/model_files.h"
#include "models/pretrained/safetensors_folder.h"
#include "models/tokenizers/load.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A JSON object from a file of the folder; empty where there is no such file.
Json optional_object(const fs::path& path) {
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) return Json::object();
  const MappedFile file(path);
  try {
    Json json = parse_json(file.text());
    require(json.is_object(), "wants a JSON object, got {}", shown(json));
    return json;
  } catch (const Error& error) {
    fail("{}: {}", path.string(), error.what());
  }
}

/// One id or a list of them, appended; null is none.
void append_ids(const Json& object, const char* key, const fs::path& path, int64_t vocab, std::vector<int64_t>& ids) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  for (const Json& id : found->is_array() ? *found : Json::array({*found})) {
    require(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < vocab,
            "{}: {}: {} is no token of the vocabulary of {}", path.string(), key, shown(id), vocab);
    if (std::find(ids.begin(), ids.end(), id.get<int64_t>()) == ids.end()) ids.push_back(id.get<int64_t>());
  }
}

ModelDescription describe_folder(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const MappedFile file(path);
  HuggingFaceModel read = parse_hugging_face(file.text(), path.string());
  ModelDescription model;
  model.name = fs::weakly_canonical(folder).filename().string();
  model.family = read.model_type;
  model.config = std::move(read.config);
  model.context = model.config.max_length;
  model.sliding_window = read.sliding_window;
  model.config.window = read.sliding_window.value_or(0);
  model.not_run = std::move(read.not_run);
  const int64_t vocab = model.config.vocab;
  const Json config = optional_object(path), tokenizer = optional_object(folder / "tokenizer_config.json");
  const fs::path generation = folder / "generation_config.json";
  std::vector<int64_t> bos;
  append_ids(config, "bos_token_id", path, vocab, bos);
  if (!bos.empty()) model.bos = bos[0];
  append_ids(optional_object(generation), "eos_token_id", generation, vocab, model.eos);
  append_ids(config, "eos_token_id", path, vocab, model.eos);
  if (const auto found = tokenizer.find("add_bos_token"); found != tokenizer.end() && found->is_boolean())
    model.add_bos = found->get<bool>() && model.bos.has_value();
  if (const auto found = tokenizer.find("chat_template"); found != tokenizer.end() && found->is_string())
    model.chat_template = found->get<std::string>();
  return model;
}

class HuggingFaceFolder : public ModelFiles {
 public:
  explicit HuggingFaceFolder(const fs::path& folder)
      : ModelFiles(folder, describe_folder(folder)), store_(std::make_shared<const SafetensorsFolder>(folder)) {}
  const TensorStore& tensors() const override { return *store_; }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override {
    const bool is_gpt2 = description().family == "gpt2";
    const bool has_prefix = is_gpt2 && store_->contains("transformer.wte.weight");
    return std::make_unique<PretrainedWeights>(
        store_, is_gpt2 ? NameScheme::hugging_face_gpt2 : NameScheme::hugging_face_llama, options.keep, options.weights,
        has_prefix ? "transformer." : "", is_gpt2);
  }
  std::unique_ptr<Tokenizer> tokenizer() const override { return load_tokenizer(path().string()); }

 private:
  std::shared_ptr<const SafetensorsFolder> store_;
};

}  // namespace

std::unique_ptr<ModelFiles> open_hugging_face(const fs::path& folder) {
  return std::make_unique<HuggingFaceFolder>(folder);
}

}  // namespace headroom::models
