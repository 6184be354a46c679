// Random strings in tokenizer.json files of every kind that is read: make_cases.py has written the ids of Hugging
// Face's `tokenizers`.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/tokenizers/load.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;

/// The project's cases, or more of them in a file that a variable names.
std::string cases_file() {
  const char* given = std::getenv("HEADROOM_TOKENIZER_CASES");
  return given != nullptr ? given : testing::source_root() + std::string("/tests/models/tokenizers/cases.json");
}

/// A tokenizer.json: a base model, and what a case puts in the place of its parts.
std::unique_ptr<Tokenizer> tokenizer_of(const Json& bases, const Json& example) {
  Json whole = {{"version", "1.0"}, {"model", bases.at(example["base"].get<std::string>())}};
  for (const auto& [key, value] : example["patch"].items()) {
    if (key == "model") whole["model"].update(value);
    else whole[key] = value;
  }
  const testing::TemporaryFolder folder;
  testing::write_bytes(folder / "tokenizer.json", whole.dump());
  return load_tokenizer(folder.path().string());
}

}  // namespace

TEST_CASE("ids of random strings are those made by tokenizers", "[tokenizer]") {
  const Json all = Json::parse(testing::read_bytes(cases_file()));
  REQUIRE(all["cases"].size() >= 9);
  for (const Json& example : all["cases"]) {
    INFO(example["name"]);
    const auto tokenizer = tokenizer_of(all["bases"], example);
    size_t wrong = 0;
    for (size_t i = 0; i < all["strings"].size(); ++i) {
      const auto text = all["strings"][i].get<std::string>();
      const auto ids = tokenizer->encode(text);
      if (ids == example["ids"][i].get<std::vector<int32_t>>()) continue;
      if (++wrong > 3) continue;
      UNSCOPED_INFO(Json(text).dump() << ": " << Json(ids).dump() << ", wanted " << example["ids"][i].dump());
    }
    CHECK(wrong == 0);
  }
}

}  // namespace headroom::models
