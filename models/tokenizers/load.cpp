#include "models/tokenizers/load.h"

#include <filesystem>

#include "engine/error.h"
#include "models/tokenizers/loaders.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// The file that a folder is read from.
fs::path file_in(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "vocab.json", "tokenizer.model"})
    if (fs::exists(folder / name)) return folder / name;
  fail("{}: holds no tokenizer (tokenizer.json, vocab.json with merges.txt, or tokenizer.model)", folder.string());
}

BpeVocabulary read_file(const fs::path& path) {
  const fs::path name = path.filename();
  if (name == "vocab.json" || name == "merges.txt")
    return read_gpt2_files(path.parent_path() / "vocab.json", path.parent_path() / "merges.txt");
  return path.extension() == ".json" ? read_tokenizer_json(path) : read_llama3_ranks(path);
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  if (path == "byte") return make_byte_tokenizer();
  std::error_code unreadable;  // the reader says why
  return make_bpe_tokenizer(read_file(fs::is_directory(path, unreadable) ? file_in(path) : fs::path(path)));
}

}  // namespace headroom::models
