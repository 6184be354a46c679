#include "models/checkpoints/compact_model.h"

#include "engine/error.h"
#include "models/checkpoints/compact_store.h"
#include "models/checkpoints/config_json.h"
#include "models/checkpoints/hugging_face_folder.h"
#include "models/files/json.h"
#include "models/positions.h"
#include "models/tokenizers/loaders.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* compact_model_type = "headroom";
constexpr int schema_version = 1;

/// A field that must be there.
const Json& needed(const Json& json, const char* key, const std::string& source) {
  require(json.contains(key), "{}: {} is missing", source, key);
  return json[key];
}

void require_decoder(const TransformerConfig& c, const std::string& source) {
  require(c.vocab > 0 && c.causal, "{}: config: expected a causal model of tokens (vocab {}, causal {})", source,
          c.vocab, c.causal);
  require(scheme_of(c).is_in_files, "{}: config.positions is {}; expected rope, learned or none", source,
          name_of(c.positions));
}

ModelDescription describe_compact(const fs::path& folder, const Json& json, const CompactConfig& read) {
  ModelDescription model;
  model.name = fs::weakly_canonical(folder).filename().string();
  model.family = read.family;
  model.config = read.config;
  model.context = model.config.max_length;
  read_folder_specials(folder, json, model);
  return model;
}

class CompactModel : public ModelFiles {
 public:
  CompactModel(const fs::path& folder, ModelDescription description, TransformerConfig full)
      : ModelFiles(folder, std::move(description)),
        full_(std::move(full)),
        store_(std::make_shared<const CompactStore>(folder / "model.safetensors")) {}
  const TensorStore& tensors() const override { return *store_; }
  NameScheme scheme() const override { return NameScheme::headroom; }
  const TransformerConfig& full_config() const override { return full_; }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override {
    return std::make_unique<PretrainedWeights>(store_, NameScheme::headroom, options.keep, options.weights);
  }
  bool has_tokenizer() const override { return folder_has_tokenizer(path()); }
  Vocabulary vocabulary() const override { return load_vocabulary(path()); }

 private:
  TransformerConfig full_;
  std::shared_ptr<const CompactStore> store_;
};

}  // namespace

std::string compact_config_json(const ModelDescription& model, const TransformerConfig& full) {
  require_decoder(model.config, "a compact folder");
  nlohmann::ordered_json json = {
      {"model_type", compact_model_type}, {"version", schema_version}, {"family", model.family}};
  if (model.bos) json["bos_token_id"] = *model.bos;
  if (!model.eos.empty()) json["eos_token_id"] = model.eos;
  json["config"] = json_of(model.config);
  json["full_config"] = json_of(full);
  return json.dump(1) + "\n";
}

CompactConfig read_compact_config(const Json& json, const std::string& source) {
  const Json& version = needed(json, "version", source);
  require(version == schema_version, "{}: version is {}; expected {}", source, shown(version), schema_version);
  const Json& family = needed(json, "family", source);
  require(family.is_string() && find_family(family.get<std::string>()), "{}: family is {}; expected one of {}", source,
          shown(family), family_names());
  CompactConfig read{family.get<std::string>(), read_config(needed(json, "config", source), source, "config"),
                     read_config(needed(json, "full_config", source), source, "full_config")};
  require_decoder(read.config, source);
  require(
      read.full.unequal_layers.empty() && read.full.layers == read.config.layers &&
          read.full.width == read.config.width && read.full.vocab == read.config.vocab,
      "{}: full_config: expected as many layers of the same width, and the same vocabulary, as config's, all layers "
      "of one shape",
      source);
  return read;
}

bool is_compact_config(const Json& json) { return member(json, "model_type") == compact_model_type; }

bool is_compact_folder(const fs::path& folder) {
  try {
    return is_compact_config(read_json(folder / "config.json"));
  } catch (const Error&) {
    return false;  // the reader reports the fault
  }
}

std::unique_ptr<ModelFiles> open_compact(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const Json json = read_json(path);
  CompactConfig read = read_compact_config(json, path.string());
  return std::make_unique<CompactModel>(folder, describe_compact(folder, json, read), std::move(read.full));
}

}  // namespace headroom::models
