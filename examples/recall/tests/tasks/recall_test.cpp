#include "tasks/recall.h"

#include <algorithm>
#include <limits>
#include <set>

#include "tests/support/catch.h"

using namespace headroom::tasks;

TEST_CASE("the answer is the value that followed the key that is asked for") {
  const RecallConfig config{.keys = 5, .values = 3, .pairs = 4};
  const Recall task(config);
  const Batch batch = task.evaluation(Split::test, 200);
  const std::vector<int64_t> tokens = batch.input.to_vector<int64_t>(), answers = batch.target.to_vector<int64_t>();
  std::set<int64_t> questions, seen;
  for (size_t row = 0; row < tokens.size(); row += 9) {
    std::set<int64_t> keys;
    for (size_t i = row; i < row + 8; ++i) CHECK(answers[i] == ignore_index);
    for (size_t i = row; i < row + 8; i += 2) {
      keys.insert(tokens[i]);
      CHECK(tokens[i] < 5);
      CHECK(tokens[i + 1] >= 5);
      if (tokens[i] == tokens[row + 8]) CHECK(answers[row + 8] == tokens[i + 1] - 5);
    }
    CHECK(keys.size() == 4);
    CHECK(keys.contains(tokens[row + 8]));
    questions.insert(tokens[row + 8]);
    seen.insert(answers[row + 8]);
  }
  CHECK(questions == std::set<int64_t>{0, 1, 2, 3, 4});
  CHECK(seen == std::set<int64_t>{0, 1, 2});
}

TEST_CASE("recall is scored at the question alone") {
  const Recall task({.keys = 2, .values = 2, .pairs = 1});
  const Batch batch = task.evaluation(Split::validation, 8);
  std::vector<float> logits(8 * 3 * 2, std::numeric_limits<float>::infinity());  // scored, they would not be finite
  const std::vector<int64_t> answers = batch.target.to_vector<int64_t>();
  for (size_t b = 0; b < 8; ++b)
    for (size_t v = 0; v < 2; ++v)
      logits[(3 * b + 2) * 2 + v] = answers[3 * b + 2] == static_cast<int64_t>(v) ? 20.F : 0.F;
  const auto meter = task.meter();
  meter->add(Tensor::from({8, 3, 2}, logits), batch);
  CHECK(meter->result().at("accuracy") == 1);
  CHECK(meter->result().at("cross_entropy") < 1e-6);
  CHECK_THROWS_WITH(Recall({.keys = 3, .pairs = 4}), "pairs: expected 1 to keys = 3, got 4");
}
