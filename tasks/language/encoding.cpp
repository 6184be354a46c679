#include "tasks/language/encoding.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/error.h"
#include "models/tokenizers/load.h"
#include "tasks/data/fetch.h"
#include "tasks/data/locate.h"
#include "tasks/data/sha256.h"
#include "tasks/language/utf8.h"

namespace headroom::tasks {
namespace {

/// One id per code point, in the order of the code points.
class CharEncoding : public Encoding {
 public:
  explicit CharEncoding(const std::vector<NamedText>& texts) {
    std::set<char32_t> seen;
    for (const NamedText& text : texts)
      for (const char32_t point : decode_utf8(text.text, text.name)) seen.insert(point);
    for (const char32_t point : seen) ids_.emplace(point, static_cast<int32_t>(ids_.size()));
  }

  int64_t vocab() const override { return static_cast<int64_t>(ids_.size()); }

  std::string identity() const override {
    Sha256 hash;
    for (const auto& [point, id] : ids_) hash.add(fmt::format("{:x} ", static_cast<uint32_t>(point)));
    return "char " + hash.hex();
  }

  std::vector<int32_t> encode(std::string_view text, const std::string& name) const override {
    const std::vector<char32_t> points = decode_utf8(text, name);
    std::vector<int32_t> out(points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      const auto found = ids_.find(points[i]);
      require(found != ids_.end(), "{}: character U+{:04X} is not in the vocabulary", name,
              static_cast<uint32_t>(points[i]));
      out[i] = found->second;
    }
    return out;
  }

  std::vector<int32_t> characters() const override { return std::vector<int32_t>(ids_.size(), 1); }

 private:
  std::map<char32_t, int32_t> ids_;
};

/// One id per byte: takes any file.
class ByteEncoding : public Encoding {
 public:
  /// Bytes that are not UTF-8 have no characters: each counts as one.
  explicit ByteEncoding(const std::vector<NamedText>& texts)
      : is_utf8_(std::all_of(texts.begin(), texts.end(), [](const NamedText& text) {
          return first_invalid_utf8(text.text) == std::string_view::npos;
        })) {}

  int64_t vocab() const override { return 256; }
  std::string identity() const override { return "byte"; }

  std::vector<int32_t> encode(std::string_view text, const std::string&) const override {
    std::vector<int32_t> out(text.size());
    std::transform(text.begin(), text.end(), out.begin(), [](char byte) { return static_cast<unsigned char>(byte); });
    return out;
  }

  std::vector<int32_t> characters() const override {
    std::vector<int32_t> out(256, 1);
    for (int byte = 0; byte < 256; ++byte)
      if (is_utf8_ && !begins_code_point(static_cast<char>(byte))) out[static_cast<size_t>(byte)] = 0;
    return out;
  }

 private:
  bool is_utf8_;
};

/// A tokenizer of models/tokenizers.
class TokenizerEncoding : public Encoding {
 public:
  explicit TokenizerEncoding(std::unique_ptr<models::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  int64_t vocab() const override { return tokenizer_->vocab_size(); }

  std::string identity() const override {
    Sha256 hash;
    for (const std::filesystem::path& file : tokenizer_->files()) hash.add(sha256_of_file(file));
    return "tokenizer " + hash.hex();
  }

  std::vector<int32_t> encode(std::string_view text, const std::string&) const override {
    return tokenizer_->encode(text, models::Specials::plain);
  }

  std::vector<int32_t> characters() const override {
    std::vector<int32_t> out;
    for (int64_t id = 0; id < vocab(); ++id) out.push_back(characters_of(id));
    return out;
  }

 private:
  /// A number that the vocabulary skips stands for nothing: no text has it.
  int32_t characters_of(int64_t id) const {
    try {
      const std::string& bytes = tokenizer_->token_bytes(id);
      return static_cast<int32_t>(std::count_if(bytes.begin(), bytes.end(), begins_code_point));
    } catch (const Error&) {
      return 0;
    }
  }

  std::unique_ptr<models::Tokenizer> tokenizer_;
};

/// A file or folder of that path, as it is or under a data folder.
std::filesystem::path tokenizer_path(const std::string& name, const DataRoots& roots) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return name;
  for (const std::filesystem::path& folder : data_folders(roots)) {
    if (!std::filesystem::exists(folder / name, ignored)) continue;
    refuse_wrong(folder / name, name);
    return folder / name;
  }
  fail("tokenizer: expected \"char\", \"byte\" or a tokenizer's path; {} is neither here nor in a data folder", name);
}

}  // namespace

std::unique_ptr<Encoding> make_encoding(const std::string& tokenizer, const std::vector<NamedText>& texts,
                                        const DataRoots& roots) {
  if (tokenizer == "char") return std::make_unique<CharEncoding>(texts);
  if (tokenizer == "byte") return std::make_unique<ByteEncoding>(texts);
  return std::make_unique<TokenizerEncoding>(models::load_tokenizer(tokenizer_path(tokenizer, roots).string()));
}

}  // namespace headroom::tasks
