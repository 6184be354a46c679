#include "models/tokenizers/tokenizer.h"

#include <algorithm>

#include "engine/error.h"

namespace headroom::models {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  ByteTokenizer() {
    for (int byte = 0; byte < count; ++byte) bytes_.emplace_back(1, static_cast<char>(byte));
  }

  std::vector<int32_t> encode(std::string_view text, Specials /*specials*/) const override {
    std::vector<int32_t> ids(text.size());
    std::transform(text.begin(), text.end(), ids.begin(), [](char byte) { return static_cast<unsigned char>(byte); });
    return ids;
  }

  const std::string& token_bytes(int64_t id) const override {
    require(id >= 0 && id < count, "byte: token {} is not in the vocabulary of {}", id, count);
    return bytes_[static_cast<size_t>(id)];
  }

  int64_t vocab_size() const override { return count; }
  const std::string& name() const override { return name_; }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string splitter() const override { return "bytes"; }
  std::string describe() const override { return "byte: one token per byte, 256 tokens"; }

 private:
  static constexpr int64_t count = 256;
  std::vector<std::string> bytes_;
  std::string name_ = "byte";
};

}  // namespace

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  for (const int32_t id : ids) text += token_bytes(id);
  return text;
}

std::optional<int32_t> Tokenizer::id_of(std::string_view text) const {
  for (int64_t id = 0; id < vocab_size(); ++id) try {
      if (token_bytes(id) == text) return static_cast<int32_t>(id);
    } catch (const Error&) {  // an id that the vocabulary leaves out
    }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace headroom::models
