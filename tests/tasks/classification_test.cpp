#include "tasks/classification.h"

#include <cmath>
#include <limits>

#include "tasks/class_meter.h"
#include "tests/support/catch.h"

using namespace headroom::tasks;
using headroom::engine::Rng;

TEST_CASE("the label is the most frequent class of token, the smaller one of a tie") {
  const Classification task({.vocab = 6, .classes = 3, .length = 4});
  const Tensor tokens = Tensor::from({3, 4}, std::vector<int64_t>{2, 5, 1, 0, 4, 1, 0, 3, 1, 4, 2, 0});  // (B, T)
  CHECK(task.label(tokens).to_vector<int64_t>() == std::vector<int64_t>{2, 0, 1});
}

TEST_CASE("classification batches have one target per sequence, and every class comes up") {
  const Classification task({.vocab = 100, .classes = 5, .length = 16});
  Rng rng(3);
  const Batch batch = task.train_batch(0, 400, rng);
  CHECK(batch.input.shape() == headroom::engine::Shape{400, 16});
  CHECK(batch.target.shape() == headroom::engine::Shape{400});
  std::vector<int> seen(5);
  for (const int64_t label : batch.target.to_vector<int64_t>()) ++seen.at(static_cast<size_t>(label));
  for (const int count : seen) CHECK(count > 20);
  CHECK(task.evaluation(Split::validation, 8).input.to_vector<int64_t>() !=
        task.evaluation(Split::test, 8).input.to_vector<int64_t>());
}

TEST_CASE("the class meter skips ignored targets and counts the rest") {
  ClassMeter meter("masked_accuracy");
  const Tensor logits = Tensor::from({2, 2}, std::vector<float>{0, std::log(3.0F), 5, -5});  // (B, V)
  meter.add(logits, {{}, Tensor::from({2}, std::vector<int64_t>{1, ignore_index})});
  CHECK(meter.count() == 1);
  CHECK(meter.result().at("cross_entropy") == Approx(std::log(4.0 / 3)).epsilon(1e-6));
  CHECK(meter.result().at("masked_accuracy") == 1.0);
  meter.add(logits, {{}, Tensor::from({2}, std::vector<int64_t>{0, 1})});
  CHECK(meter.result().at("masked_accuracy") == Approx(1.0 / 3));
  CHECK_THROWS_WITH(meter.add(logits, {{}, Tensor::from({2}, std::vector<int64_t>{0, 2})}),
                    "class meter: target 2 is outside the 2 classes");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  meter.add(Tensor::from({1, 2}, std::vector<float>{nan, 0}), {{}, Tensor::from({1}, std::vector<int64_t>{1})});
  CHECK(std::isnan(meter.result().at("cross_entropy")));
}

TEST_CASE("classification names the field that is out of range") {
  CHECK_THROWS_WITH(Classification({.vocab = 3, .classes = 4}), "vocab: expected >= classes = 4, got 3");
  CHECK_THROWS_WITH(Classification({.classes = 1}), "classes: expected >= 2, got 1");
  CHECK_THROWS_WITH(Classification({.length = 0}), "length: expected >= 1, got 0");
}
