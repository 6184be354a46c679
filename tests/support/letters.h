#pragma once
#include "models/tokenizers/tokenizer.h"

namespace headroom::testing {

/// Letters are 1 to 26, a space 27; where pairs are taken together, "ab" 28 and " b" 29: a token may hold the end of a
/// prompt and begin a choice.
class Letters : public models::Tokenizer {
 public:
  explicit Letters(bool takes_pairs = false) : takes_pairs_(takes_pairs) {}
  std::vector<int32_t> encode(std::string_view text, models::Specials) const override {
    std::vector<int32_t> ids;
    while (!text.empty()) {
      const bool is_pair = takes_pairs_ && (text.starts_with("ab") || text.starts_with(" b"));
      ids.push_back(is_pair ? (text[0] == 'a' ? 28 : 29) : text[0] == ' ' ? 27 : text[0] - 'a' + 1);
      text.remove_prefix(is_pair ? 2 : 1);
    }
    return ids;
  }
  const std::string& token_bytes(int64_t) const override { return name_; }
  int64_t vocab_size() const override { return 30; }
  const std::string& name() const override { return name_; }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string splitter() const override { return name_; }
  std::string describe() const override { return name_; }

 private:
  std::string name_ = "letters";
  bool takes_pairs_;
};

}  // namespace headroom::testing
