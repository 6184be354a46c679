#include "tasks/measure/text_tokens.h"

#include "engine/error.h"
#include "models/files/mapped_file.h"
#include "models/files/utf8.h"

namespace headroom::tasks {

std::vector<int32_t> tokens_of_file(const std::filesystem::path& path, const models::Tokenizer& tokenizer) {
  const models::MappedFile file(path);
  const std::string_view text = file.text();
  require(!text.empty(), "{}: is empty", path.string());
  require(models::valid_utf8(text) == text.size(), "{}: is not UTF-8 from byte {} on", path.string(),
          models::valid_utf8(text));
  return tokenizer.encode(text, models::Specials::plain);
}

std::string TextCut::words() const {
  return fmt::format("cut as {}, {}", splitter,
                     begin ? fmt::format("behind {} ({})", begin_text, *begin) : "with no token before it");
}

TextCut text_cut(const models::ModelDescription& model, const models::Tokenizer& tokenizer) {
  const std::optional<int64_t> begin = model.text_begin();
  const bool is_known = begin && *begin < tokenizer.vocab_size();
  return {tokenizer.splitter(), begin, is_known ? tokenizer.token_bytes(*begin) : ""};
}

std::string begins_twice(const models::ModelDescription& model, const std::vector<int32_t>& ids) {
  const std::optional<int64_t> begin = model.text_begin();
  if (!begin || ids.size() < 2 || ids[0] != *begin || ids[1] != *begin) return "";
  return fmt::format(
      "the text begins with token {}, which the tokenizer puts before every text: the model sees it twice", *begin);
}

}  // namespace headroom::tasks
