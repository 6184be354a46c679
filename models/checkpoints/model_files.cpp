#include "models/checkpoints/model_files.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "engine/error.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/not_a_model.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

/// The tokenizer of a model that has fewer embeddings than it has ids: those beyond are an error in a text.
class EmbeddedTokenizer : public Tokenizer {
 public:
  EmbeddedTokenizer(std::unique_ptr<Tokenizer> all, int64_t rows) : all_(std::move(all)), rows_(rows) {}
  std::vector<int32_t> encode(std::string_view text, Specials specials) const override {
    std::vector<int32_t> ids = all_->encode(text, specials);
    for (const int32_t id : ids)
      require(id < rows_, "{}: the text has {}, token {}, and the model has embeddings for {} tokens only",
              all_->files().front().string(), quoted_name(all_->token_bytes(id)), id, rows_);
    return ids;
  }
  const std::string& token_bytes(int64_t id) const override { return all_->token_bytes(id); }
  int64_t vocab_size() const override { return rows_; }
  const std::string& name() const override { return all_->name(); }
  std::vector<std::filesystem::path> files() const override { return all_->files(); }
  std::string splitter() const override { return all_->splitter(); }
  std::string describe() const override {
    return fmt::format("{}, of which the model has {}", all_->describe(), rows_);
  }
  std::string decode(const std::vector<int32_t>& ids) const override { return all_->decode(ids); }

 private:
  std::unique_ptr<Tokenizer> all_;
  int64_t rows_;
};

/// True if all ids from `rows` on are added tokens.
bool are_added_beyond(const Vocabulary& vocabulary, int64_t rows) {
  const auto* bpe = std::get_if<BpeVocabulary>(&vocabulary);
  if (!bpe) return std::ssize(std::get<SentencePieceVocabulary>(vocabulary).model.pieces) <= rows;
  std::set<int64_t> added;
  for (const AddedToken& token : bpe->added) added.insert(token.id);
  for (int64_t id = rows; id < std::ssize(bpe->tokens); ++id)
    if (!bpe->tokens[static_cast<size_t>(id)].empty() && !added.contains(id)) return false;
  return true;
}

}  // namespace

std::unique_ptr<ModelFiles> ModelFiles::open(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) complain_of_missing(path);
  if (!std::filesystem::is_directory(path, unreadable)) {
    if (path.extension() == ".safetensors") complain_of_weights_alone(path);
    return open_gguf(path);
  }
  if (!std::filesystem::exists(path / "config.json", unreadable)) complain_of_folder(path);
  return is_compact_folder(path) ? open_compact(path) : open_hugging_face(path);
}

std::unique_ptr<Tokenizer> ModelFiles::tokenizer() const {
  const int64_t rows = description_.config.vocab;
  Vocabulary parts = vocabulary();
  const bool may_end = are_added_beyond(parts, rows);
  std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(parts));
  const int64_t ids = tokenizer->vocab_size();
  const std::string file = tokenizer->files().front().string();
  if (ids > rows && may_end) return std::make_unique<EmbeddedTokenizer>(std::move(tokenizer), rows);
  require(ids <= rows, "{}: the tokenizer has {} ids, the model of {} has embeddings for {}: it is another model's",
          file, ids, path_.string(), rows);
  require(ids >= rows - rows / 8, "{}: the tokenizer has {} ids, the model of {} has {} embeddings: it is another's",
          file, ids, path_.string(), rows);
  return tokenizer;
}

void ModelFiles::require_run() const {
  require(description_.not_run.empty(), "{}: is not run here: {}", path_.string(),
          fmt::join(description_.not_run, "; "));
}

std::unique_ptr<Transformer> ModelFiles::load(const LoadOptions& options) const {
  require_run();
  const std::unique_ptr<WeightSource> source = weights(options);
  return std::make_unique<Transformer>(description_.config, *source);
}

}  // namespace headroom::models
