#include "models/tokenizers/load.h"

#include <filesystem>

#include "engine/error.h"
#include "models/files/mapped_file.h"
#include "models/gguf/gguf.h"
#include "models/tokenizers/gguf_vocabulary.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/sentencepiece.h"

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

/// A SentencePiece model is a protocol buffer whose first field, number 1, is a piece; ranks are text.
bool is_sentencepiece(const fs::path& path) {
  if (path.extension() == ".json" || path.extension() == ".txt") return false;
  const MappedFile file(path, tokenizer_file);
  return file.size() > 0 && file.data()[0] == 0x0a;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  if (path == "byte") return make_byte_tokenizer();
  std::error_code unreadable;  // the reader says why
  if (fs::path(path).extension() == ".gguf") {
    const GgufFile gguf(path);
    return make_gguf_tokenizer(gguf.metadata(), fs::path(path).stem().string(), path);
  }
  const fs::path file = fs::is_directory(path, unreadable) ? file_in(path) : fs::path(path);
  return is_sentencepiece(file) ? load_sentencepiece(file) : make_bpe_tokenizer(read_file(file));
}

}  // namespace headroom::models
