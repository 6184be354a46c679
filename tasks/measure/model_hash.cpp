#include "tasks/measure/model_hash.h"

#include <algorithm>
#include <vector>

#include "models/files/entries_of.h"
#include "models/gguf/gguf.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {

std::string sha256_of_model(const std::filesystem::path& model) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(model)) {
    files = models::gguf_parts(model);
    std::erase_if(files, [](const auto& part) { return !std::filesystem::exists(part); });
    if (files.size() == 1) return sha256_of_file(model);
  } else
    for (const std::filesystem::path& file : models::entries_of(model))
      if (file.extension() == ".safetensors" || file.filename() == "config.json") files.push_back(file);
  std::sort(files.begin(), files.end());
  Sha256 hash;
  for (const std::filesystem::path& file : files)
    hash.add(file.filename().string() + " " + sha256_of_file(file) + "\n");
  return hash.hex();
}

}  // namespace headroom::tasks
