#include "models/compact/compact_model.h"

#include <array>

#include "engine/error.h"
#include "models/compact/compact_store.h"
#include "models/compact/config_json.h"
#include "models/files/json.h"
#include "models/pretrained/folder_specials.h"
#include "models/tokenizers/loaders.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int schema_version = 1;
constexpr std::array compact_families{"llama", "mistral", "qwen2", "qwen3", "gpt2"};

/// A field that must be there.
const Json& needed(const Json& json, const char* key, const std::string& source) {
  const auto found = json.find(key);
  require(found != json.end(), "{}: {} is missing", source, key);
  return *found;
}

void require_decoder(const TransformerConfig& c, const std::string& source) {
  require(c.vocab > 0 && c.causal, "{}: config: a causal model of tokens is wanted (vocab {}, causal {})", source,
          c.vocab, c.causal);
  require(c.positions == Positions::rope || c.positions == Positions::learned || c.positions == Positions::none,
          "{}: config.positions is {}; rope, learned or none is wanted", source, name_of(c.positions));
}

struct CompactDescription {
  ModelDescription model;
  TransformerConfig full;
};

CompactDescription describe_compact(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const std::string source = path.string();
  const Json json = read_json(path);
  const Json& version = needed(json, "version", source);
  require(version == schema_version, "{}: version is {}; {} is wanted", source, shown(version), schema_version);
  CompactDescription read;
  ModelDescription& model = read.model;
  model.name = fs::weakly_canonical(folder).filename().string();
  const Json& family = needed(json, "family", source);
  require(std::find(compact_families.begin(), compact_families.end(), family) != compact_families.end(),
          "{}: family is {}; one of {} is wanted", source, shown(family), fmt::join(compact_families, ", "));
  model.family = family.get<std::string>();
  model.config = read_config(needed(json, "config", source), source, "config");
  read.full = read_config(needed(json, "full_config", source), source, "full_config");
  require_decoder(model.config, source);
  require(read.full.unequal_layers.empty() && read.full.layers == model.config.layers &&
              read.full.width == model.config.width,
          "{}: full_config: the same number and width of layers as config's is wanted, all of one shape", source);
  model.context = model.config.max_length;
  if (model.config.window > 0) model.sliding_window = model.config.window;
  read_folder_specials(folder, json, model);
  return read;
}

class CompactModel : public ModelFiles {
 public:
  CompactModel(const fs::path& folder, CompactDescription read)
      : ModelFiles(folder, std::move(read.model)),
        full_(std::move(read.full)),
        store_(std::make_shared<const CompactStore>(folder / "model.safetensors")) {}
  const TensorStore& tensors() const override { return *store_; }
  FileLayout layout() const override { return {NameScheme::headroom, ""}; }
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

bool is_compact_folder(const fs::path& folder) {
  try {
    const Json json = read_optional_object(folder / "config.json");
    const auto type = json.find("model_type");
    return type != json.end() && *type == compact_model_type;
  } catch (const Error&) {
    return false;  // who reads it says what is wrong
  }
}

std::unique_ptr<ModelFiles> open_compact(const fs::path& folder) {
  return std::make_unique<CompactModel>(folder, describe_compact(folder));
}

}  // namespace headroom::models
