#include "models/pretrained/model_files.h"

#include <fmt/format.h>

#include "engine/error.h"

namespace headroom::models {

std::unique_ptr<ModelFiles> ModelFiles::open(const std::filesystem::path& path) {
  std::error_code unreadable;
  require(std::filesystem::exists(path, unreadable),
          "{}: there is no such model: a folder of Hugging Face's or a GGUF file is wanted", path.string());
  return std::filesystem::is_directory(path, unreadable) ? open_hugging_face(path) : open_gguf(path);
}

std::unique_ptr<Transformer> ModelFiles::load(const LoadOptions& options) const {
  require(description_.not_run.empty(), "{}: is not run here: {}", path_.string(),
          fmt::join(description_.not_run, "; "));
  const std::unique_ptr<WeightSource> source = weights(options);
  return std::make_unique<Transformer>(description_.config, *source);
}

}  // namespace headroom::models
