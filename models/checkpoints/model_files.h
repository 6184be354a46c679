#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "models/checkpoints/description.h"
#include "models/checkpoints/source.h"
#include "models/tokenizers/vocabulary.h"
#include "models/transformer.h"

namespace headroom::models {

/// How a trained model is brought into memory.
struct LoadOptions {
  Keep keep = Keep::stored;
  WeightOptions weights{.dtype = engine::DType::f32, .is_trained = none_trained};
};

class GgufMetadata;

/// A trained model on disk: a GGUF file, a folder as Hugging Face has them (config.json, safetensors, tokenizer), or a
/// compact folder (models/checkpoints/compact_model.h). Opening it reads headers and checks them; weights are read when
/// a Transformer is made.
class ModelFiles {
 public:
  /// Throws Error naming file and field where they are wrong, or contradict each other.
  static std::unique_ptr<ModelFiles> open(const std::filesystem::path& path);
  virtual ~ModelFiles() = default;
  ModelFiles(const ModelFiles&) = delete;
  ModelFiles& operator=(const ModelFiles&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const ModelDescription& description() const { return description_; }
  /// The tensors by the files' own names.
  virtual const TensorStore& tensors() const = 0;
  /// How its tensors are called.
  virtual NameScheme scheme() const = 0;
  /// The keys and values of a GGUF file; null for a folder.
  virtual const GgufMetadata* metadata() const { return nullptr; }
  /// The shapes that the model has in files of other software: those of the model it was made of where it is compact.
  virtual const TransformerConfig& full_config() const { return description_.config; }
  /// A source of weights for this model, or one of its shape.
  virtual std::unique_ptr<WeightSource> weights(const LoadOptions& options) const = 0;
  /// Whether the files hold a tokenizer.
  virtual bool has_tokenizer() const = 0;
  /// What the files' tokenizer is made of. Throws Error when there is none, or it is of a kind that we lack.
  virtual Vocabulary vocabulary() const = 0;
  /// The files' tokenizer. Throws Error as vocabulary() does, and naming both where it is another model's: it has ids
  /// beyond the model's vocabulary which are not of added tokens, or none for more than an eighth of it (a few are
  /// padding). An added token without an embedding is an error in a text.
  std::unique_ptr<Tokenizer> tokenizer() const;

  /// The model with its weights. Throws Error naming what of it we would compute otherwise (`not_run`), and what is
  /// missing or of another shape.
  std::unique_ptr<Transformer> load(const LoadOptions& options = {}) const;

 protected:
  ModelFiles(std::filesystem::path path, ModelDescription description)
      : path_(std::move(path)), description_(std::move(description)) {}

 private:
  std::filesystem::path path_;
  ModelDescription description_;
};

/// What a GGUF file's metadata and tensors say of its model. Throws Error naming file and key.
class GgufFile;
ModelDescription describe_gguf(const GgufFile& file);

/// The kinds of files. Throw as ModelFiles::open().
std::unique_ptr<ModelFiles> open_gguf(const std::filesystem::path& path);
std::unique_ptr<ModelFiles> open_hugging_face(const std::filesystem::path& folder);

}  // namespace headroom::models
