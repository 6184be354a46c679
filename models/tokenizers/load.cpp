#include "models/tokenizers/load.h"

#include <filesystem>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/gguf/gguf.h"
#include "models/tokenizers/folder_config.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/vocabulary.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// The file that a folder is read from; "" where it has none.
fs::path tokenizer_in(const fs::path& folder) {
  std::error_code unreadable;
  for (const char* name : {"tokenizer.json", "vocab.json", "tokenizer.model"})
    if (fs::exists(folder / name, unreadable)) return folder / name;
  return {};
}

fs::path file_in(const fs::path& folder) {
  const fs::path file = tokenizer_in(folder);
  require(!file.empty(), "{}: holds no tokenizer (tokenizer.json, vocab.json with merges.txt, or tokenizer.model)",
          folder.string());
  return file;
}

BpeVocabulary read_file(const fs::path& path) {
  const fs::path name = path.filename();
  if (name == "vocab.json" || name == "merges.txt")
    return read_gpt2_files(path.parent_path() / "vocab.json", path.parent_path() / "merges.txt");
  return path.extension() == ".json" ? read_tokenizer_json(path) : read_llama3_ranks(path);
}

SentencePieceVocabulary read_sentencepiece(const fs::path& path) {
  const MappedFile file(path, tokenizer_file);
  return naming(path.string(), [&] {
    const FolderConfig config = read_folder_config(path.parent_path());
    const bool is_llama = config.kind == llama_tokenizer;
    SentencePieceVocabulary read{parse_sentencepiece(file.text()), folder_name(path), path, config.added};
    read.spaces_every = config.flag("legacy", !is_llama);
    read.only_missing = is_llama || !read.spaces_every;
    if (is_llama) read.model.add_dummy_prefix = config.flag("add_prefix_space", true);
    return read;
  });
}

}  // namespace

bool is_sentencepiece(const fs::path& path) {
  if (path.extension() == ".json" || path.extension() == ".txt") return false;
  const MappedFile file(path, tokenizer_file);
  return file.size() > 0 && file.data()[0] == 0x0a;
}

Vocabulary load_vocabulary(const fs::path& path) {
  if (path.extension() == ".gguf") {
    const GgufFile gguf(path);
    return gguf_vocabulary(gguf.metadata(), path.stem().string(), path);
  }
  std::error_code unreadable;  // the reader says why
  const fs::path file = fs::is_directory(path, unreadable) ? file_in(path) : path;
  if (is_sentencepiece(file)) return read_sentencepiece(file);
  return read_file(file);
}

bool folder_has_tokenizer(const fs::path& folder) { return !tokenizer_in(folder).empty(); }

std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary) {
  if (const auto* pieces = std::get_if<SentencePieceVocabulary>(&vocabulary))
    return make_sentencepiece_tokenizer(*pieces);
  return make_bpe_tokenizer(std::get<BpeVocabulary>(std::move(vocabulary)));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  return path == "byte" ? make_byte_tokenizer() : make_tokenizer(load_vocabulary(path));
}

}  // namespace headroom::models
