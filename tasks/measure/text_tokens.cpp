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

}  // namespace headroom::tasks
