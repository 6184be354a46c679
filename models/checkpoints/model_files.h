#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "models/checkpoints/description.h"
#include "models/checkpoints/source.h"
#include "models/tokenizers/vocabulary.h"
#include "models/transformer.h"

namespace headroom::models {

/// How to load a trained model into memory.
struct LoadOptions {
  Keep keep = Keep::stored;
  WeightOptions weights{.dtype = engine::DType::f32, .is_trained = none_trained};
};

class GgufMetadata;

/// A trained model on disk: a GGUF file, a Hugging Face folder (config.json, safetensors, tokenizer), or a compact
/// folder (models/checkpoints/compact_model.h). Opening reads and checks headers; making a Transformer reads the
/// weights.
class ModelFiles {
 public:
  /// Throws Error naming file and field if they are wrong or contradict each other.
  static std::unique_ptr<ModelFiles> open(const std::filesystem::path& path);
  virtual ~ModelFiles() = default;
  ModelFiles(const ModelFiles&) = delete;
  ModelFiles& operator=(const ModelFiles&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const ModelDescription& description() const { return description_; }
  /// The tensors, under the files' own names.
  virtual const TensorStore& tensors() const = 0;
  /// The naming scheme of its tensors.
  virtual NameScheme scheme() const = 0;
  /// The keys and values of a GGUF file; null for a folder.
  virtual const GgufMetadata* metadata() const { return nullptr; }
  /// The shapes other software expects: for a compact model, those of the model it was made from.
  virtual const TransformerConfig& full_config() const { return description_.config; }
  /// A source of weights for this model, or for one of its shape.
  virtual std::unique_ptr<WeightSource> weights(const LoadOptions& options) const = 0;
  /// True if the files hold a tokenizer.
  virtual bool has_tokenizer() const = 0;
  /// The data of the files' tokenizer. Throws Error if there is none or we do not support its kind.
  virtual Vocabulary vocabulary() const = 0;
  /// The files' tokenizer. Throws Error as vocabulary(), and naming both if it belongs to another model: it has
  /// non-added ids beyond the model's vocabulary, or lacks ids for more than an eighth of it (a few are padding). Added
  /// tokens without an embedding fail only when a text contains one.
  std::unique_ptr<Tokenizer> tokenizer() const;

  /// Throws Error naming what we would compute otherwise (`not_run`).
  void require_run() const;
  /// Loads the model with its weights. Throws Error as require_run(), and naming any weight that is missing or has
  /// another shape.
  std::unique_ptr<Transformer> load(const LoadOptions& options = {}) const;

 protected:
  ModelFiles(std::filesystem::path path, ModelDescription description)
      : path_(std::move(path)), description_(std::move(description)) {}

 private:
  std::filesystem::path path_;
  ModelDescription description_;
};

/// A GGUF file's model, from its metadata and tensors. Throws Error naming file and key.
class GgufFile;
ModelDescription describe_gguf(const GgufFile& file);

/// Open each kind of file. Throw as ModelFiles::open().
std::unique_ptr<ModelFiles> open_gguf(const std::filesystem::path& path);
std::unique_ptr<ModelFiles> open_hugging_face(const std::filesystem::path& folder);

}  // namespace headroom::models
