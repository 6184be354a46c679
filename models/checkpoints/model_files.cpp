#include "models/checkpoints/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/error.h"
#include "models/checkpoints/compact_model.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// Throws Error that says what to name in place of a folder that is no model's.
void require_config(const fs::path& folder) {
  std::error_code none;
  if (fs::exists(folder / "config.json", none)) return;
  std::vector<std::string> found;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    if (entry->path().extension() == ".gguf") found.push_back(entry->path().string());
  std::sort(found.begin(), found.end());
  require(found.empty(), "{}: is not a model's folder: it has no config.json, but holds {}: name the file, {}",
          folder.string(), found.size() == 1 ? "a GGUF file" : "GGUF files", fmt::join(found, " or "));
  fail(
      "{}: is not a model's folder: it has no config.json; expected a GGUF file, or a folder with config.json, "
      "model.safetensors and the tokenizer's files",
      folder.string());
}

/// Throws Error for a safetensors file, which holds numbers and says nothing of the model.
void require_not_weights_alone(const fs::path& file) {
  if (file.extension() != ".safetensors") return;
  std::error_code none;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  fail("{}: has a model's weights alone: {}", file.string(),
       fs::exists(folder / "config.json", none)
           ? fmt::format("name its folder, {}, which has config.json", folder.string())
           : "name a folder that has it beside config.json and the tokenizer's files");
}

}  // namespace

std::unique_ptr<ModelFiles> ModelFiles::open(const std::filesystem::path& path) {
  std::error_code unreadable;
  require(std::filesystem::exists(path, unreadable),
          "{}: there is no such model: expected a Hugging Face folder or a GGUF file", path.string());
  if (!std::filesystem::is_directory(path, unreadable)) {
    require_not_weights_alone(path);
    return open_gguf(path);
  }
  require_config(path);
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
