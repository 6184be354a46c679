#include "models/tokenizers/tokenizer.h"

#include "engine/error.h"
#include "tests/support/catch.h"

namespace headroom::models {

using testing::contains;

TEST_CASE("the byte tokenizer has one id per byte", "[tokenizer]") {
  const auto tokenizer = make_byte_tokenizer();
  CHECK(tokenizer->encode(std::string("a\0\xff", 3)) == std::vector<int32_t>{97, 0, 255});
  CHECK(tokenizer->decode({0xc3, 0xa9, 0}) == std::string("é\0", 3));
  CHECK(tokenizer->vocab_size() == 256);
  CHECK_THROWS_WITH(tokenizer->decode({256}), contains("token 256 is not in the vocabulary of 256"));
  CHECK_THROWS_WITH(tokenizer->decode({-1}), contains("token -1 is not in the vocabulary of 256"));
}

}  // namespace headroom::models
