// Known logits of a model: written, read, compared, and what is said of wrong ones.
#include "models/checkpoints/reference_logits.h"

#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;
using testing::contains;
using testing::error_of;

std::unique_ptr<Transformer> small_model(const char* name) {
  return ModelFiles::open(testing::source_root() + std::string("/tests/models/pretrained/checkpoints/") + name)->load();
}

}  // namespace

TEST_CASE("a model agrees with its own known logits, another does not", "[pretrained]") {
  const testing::TemporaryFolder folder;
  const auto model = small_model("llama2-gqa");
  const ReferenceText text = measure_text(*model, "a text", {5, 9, 2, 30});
  CHECK(text.top[0].size() == 10);
  CHECK(text.greedy.size() == 20);
  CHECK(text.greedy[0] == text.top[3][0].first);
  testing::write_bytes(folder / "known.json", json_of({"m", "this test", {text}}));
  const ReferenceLogits read = read_reference_logits(folder / "known.json");
  CHECK(read.model == "m");
  REQUIRE(read.texts.size() == 1);
  CHECK(read.texts[0].ids == text.ids);
  CHECK(read.texts[0].logsumexp == text.logsumexp);

  const ReferenceComparison same = compare_text(*model, read.texts[0], 1e-6);
  CHECK(same.worst_logit == 0);
  CHECK(same.worst_logsumexp == 0);
  CHECK(same.same_greedy == 20);
  CHECK(same.greedy_agrees);
  const ReferenceComparison other = compare_text(*small_model("llama1"), read.texts[0], 1e-3);
  CHECK(other.worst_logit > 0.1);
  CHECK(other.same_greedy < 20);
  CHECK_FALSE(other.greedy_agrees);

  // A token that led by nothing may lose to another.
  ReferenceText tie = read.texts[0];
  tie.greedy[7] = (tie.greedy[7] + 1) % 37, tie.greedy_margin[7] = 1e-4;
  CHECK(compare_text(*model, tie, 1e-4).greedy_agrees);
  CHECK(compare_text(*model, tie, 1e-4).same_greedy == 7);
  CHECK_FALSE(compare_text(*model, tie, 1e-5).greedy_agrees);
  tie.ids[0] = 37;
  CHECK_THAT(error_of([&] { compare_text(*model, tie, 1e-4); }), contains("token 37 is not in the model's vocabulary"));
}

TEST_CASE("the end of the context ends the greedy continuation, a window does not", "[pretrained]") {
  const auto model = small_model("mistral");  // of 64 tokens, with a window of 32
  CHECK(measure_text(*model, "", std::vector<int32_t>(30, 3)).greedy.size() == 20);
  CHECK(measure_text(*model, "", std::vector<int32_t>(62, 3)).greedy.size() == 3);
}

TEST_CASE("wrong files of known logits get a line that names file and field", "[pretrained]") {
  const testing::TemporaryFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    testing::write_bytes(folder / "known.json", bytes);
    return error_of([&] { read_reference_logits(folder / "known.json"); });
  };
  CHECK_THAT(refusal("{"), contains("known.json: is not JSON"));
  CHECK_THAT(refusal("[]"), contains("known.json: texts: expected a list of known texts"));
  CHECK_THAT(refusal(R"({"texts": []})"), contains("texts: expected a list of known texts"));
  CHECK_THAT(refusal(R"({"texts": [3]})"), contains("texts[0]: is 3, expected an object"));
  CHECK_THAT(refusal(R"({"texts": [{"text": "a"}]})"), contains("texts[0]: ids is missing"));
  CHECK_THAT(refusal(R"({"texts": [{"text": "a", "ids": "b"}]})"), contains("texts[0]: ids is invalid"));
  CHECK_THAT(refusal(R"({"texts": [{"text": "a", "ids": [1], "logsumexp": [], "top10": [], "greedy20": []}]})"),
             contains("1 ids, 0 entries of logsumexp and 0 of top10"));
}

}  // namespace headroom::models
