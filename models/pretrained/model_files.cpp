#include "models/pretrained/model_files.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "models/compact/compact_model.h"

namespace headroom::models {

std::unique_ptr<ModelFiles> ModelFiles::open(const std::filesystem::path& path) {
  std::error_code unreadable;
  require(std::filesystem::exists(path, unreadable),
          "{}: there is no such model: a folder of Hugging Face's or a GGUF file is wanted", path.string());
  if (!std::filesystem::is_directory(path, unreadable)) return open_gguf(path);
  return is_compact_folder(path) ? open_compact(path) : open_hugging_face(path);
}

std::unique_ptr<Tokenizer> ModelFiles::tokenizer() const {
  std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(vocabulary());
  const int64_t rows = description_.config.vocab, ids = tokenizer->vocab_size();
  const std::string file = tokenizer->files().front().string();
  require(ids <= rows, "{}: the tokenizer has {} ids, the model of {} has embeddings for {}: it is another model's",
          file, ids, path_.string(), rows);
  require(ids >= rows - rows / 8, "{}: the tokenizer has {} ids, the model of {} has {} embeddings: it is another's",
          file, ids, path_.string(), rows);
  return tokenizer;
}

std::unique_ptr<Transformer> ModelFiles::load(const LoadOptions& options) const {
  require(description_.not_run.empty(), "{}: is not run here: {}", path_.string(),
          fmt::join(description_.not_run, "; "));
  const std::unique_ptr<WeightSource> source = weights(options);
  return std::make_unique<Transformer>(description_.config, *source);
}

}  // namespace headroom::models
