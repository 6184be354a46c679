// Labelled sentences: how a table is read, in what order they are trained on, and what a classifier says of them.
#include <algorithm>
#include <numeric>

#include "models/checkpoints/model_edit.h"
#include "tasks/finetune/sentence_classification.h"
#include "tasks/permutation.h"
#include "tasks/training/trainer.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"
#include "tests/support/letters.h"

namespace headroom::tasks {
namespace {

using namespace testing;

/// Sentences whose class is that of their last letter, of 1 to 7 letters.
std::vector<LabelledSentence> letters(int64_t count) {
  std::vector<LabelledSentence> items;
  for (int64_t i = 0; i < count; ++i) {
    LabelledSentence item;
    for (int64_t t = 0; t <= i % 7; ++t) item.tokens.push_back(static_cast<int32_t>((i * i + 5 * t + 3) % 26 + 1));
    item.label = item.tokens.back() % 2;
    items.push_back(item);
  }
  return items;
}

std::unique_ptr<models::Transformer> classifier(const std::string& name, int64_t classes, uint64_t seed = 1) {
  const auto files = models::ModelFiles::open(checkpoints() / name);
  engine::Rng rng(seed);
  const models::ModelEdit edit = models::classifier_of({files->description().config, {}}, classes, rng);
  return models::load(*files, edit, {.keep = models::Keep::computed, .weights = {}});
}

}  // namespace

TEST_CASE("a table of sentences is read by its columns", "[finetune]") {
  const TemporaryFolder folder;
  const auto path = folder / "table.tsv";
  write_bytes(path, "label\tsentence\n0\tab c\n\n1\tz\r\n");
  const LabelledSentences read = read_sentences(path, {}, Letters());
  CHECK(read.classes == 2);
  REQUIRE(read.items.size() == 2);
  CHECK(read.items[0].tokens == std::vector<int32_t>{1, 2, 27, 3});
  CHECK(read.items[1].tokens == std::vector<int32_t>{26});
  CHECK(read.items[1].label == 1);
  CHECK(read_sentences(path, {.text = "sentence", .bos = 29}, Letters()).items[1].tokens ==
        std::vector<int32_t>{29, 26});
  write_bytes(path, "id\tlabel\tsentence\nx\t4\tab\n");
  CHECK(read_sentences(path, {.text = "sentence"}, Letters()).classes == 5);
  const auto refusal = [&](const char* text, const SentenceTable& table) {
    write_bytes(path, text);
    return error_of([&] { read_sentences(path, table, Letters()); });
  };
  CHECK_THAT(refusal("id\tlabel\tsentence\n", {}),
             contains("table.tsv, line 1: 3 columns: name the one with the sentences"));
  CHECK_THAT(refusal("label\tsentence\n", {}), contains("table.tsv: holds no item"));
  CHECK_THAT(refusal("", {}), contains("table.tsv: holds no item"));
  CHECK_THAT(refusal("label\ttext\n0\ta\n", {.text = "sentence"}),
             contains("line 1: there is no column 'sentence'; there are label, text"));
  CHECK_THAT(refusal("label\ttext\n0\ta\nbad\tb\n", {}),
             contains("line 3: label 'bad' is none of 0 to 999, the numbers of the classes"));
  CHECK_THAT(refusal("label\ttext\n2\ta\n", {.text = "", .classes = 2}),
             contains("line 2: label '2' is none of 0 to 1"));
  CHECK_THAT(refusal("label\ttext\n-1\ta\n", {}), contains("label '-1' is none of 0 to 999"));
  CHECK_THAT(refusal("label\ttext\n1\t\n", {}), contains("line 2: the sentence is empty"));
  CHECK_THAT(refusal("label\ttext\n1\tabcdef\n", {.text = "", .longest = 5}),
             contains("line 2: the sentence has 6 tokens; the model reads 5"));
  CHECK_THAT(refusal("label\ttext\n1\ta\tb\n", {}), contains("line 2: 3 columns, the first line names 2"));
}

TEST_CASE("a permutation is a function of seed, stream and index", "[finetune]") {
  std::vector<int64_t> first = permutation(101, {7, "data", 0});
  CHECK(first == permutation(101, {7, "data", 0}));
  CHECK(first != permutation(101, {7, "data", 1}));
  CHECK(first != permutation(101, {8, "data", 0}));
  CHECK(first != permutation(101, {7, "sample", 0}));
  std::sort(first.begin(), first.end());
  std::vector<int64_t> all(101);
  std::iota(all.begin(), all.end(), 0);
  CHECK(first == all);
  CHECK(permutation(0, {7, "data", 3}).empty());
}

TEST_CASE("a sample keeps the order and repeats nothing", "[finetune]") {
  const std::vector<LabelledSentence> items = letters(50);
  const auto sample = sample_sentences(items, 20, 3);
  REQUIRE(sample.size() == 20);
  size_t at = 0;
  for (const LabelledSentence& each : sample) {
    while (at < items.size() && !(items[at].tokens == each.tokens && items[at].label == each.label)) ++at;
    REQUIRE(at < items.size());
    ++at;
  }
  CHECK(sample_sentences(items, 80, 3).size() == 50);
  CHECK(sample_sentences(items, 20, 4)[0].tokens.size() + sample_sentences(items, 20, 3)[0].tokens.size() > 0);
}

TEST_CASE("each epoch goes through every sentence once", "[finetune]") {
  const SentenceClassification task(letters(23));
  CHECK(task.steps_per_epoch(5) == 5);
  for (const int64_t epoch : {0, 1}) {
    std::vector<int64_t> seen;
    for (int64_t step = 5 * epoch; step < 5 * epoch + 5; ++step) {
      const std::vector<int64_t> own = task.examples(step, 5, 9);
      CHECK(own.size() == (step % 5 == 4 ? 3 : 5));
      seen.insert(seen.end(), own.begin(), own.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<int64_t> all(23);
    std::iota(all.begin(), all.end(), 0);
    CHECK(seen == all);
  }
  CHECK(task.examples(0, 5, 9) != task.examples(5, 5, 9));
  engine::Rng rng(9);
  const Batch batch = task.train_batch(6, 5, rng);
  CHECK(rng.offsets().empty());
  const std::vector<int64_t> own = task.examples(6, 5, 9);
  const std::vector<uint8_t> kept = batch.key_mask.to_vector<uint8_t>();
  const std::vector<int64_t> tokens = batch.input.to_vector<int64_t>(), labels = batch.target.to_vector<int64_t>();
  const auto length = static_cast<size_t>(batch.input.dim(1));
  for (size_t b = 0; b < own.size(); ++b) {
    const LabelledSentence& sentence = task.sentences()[static_cast<size_t>(own[b])];
    CHECK(labels[b] == sentence.label);
    for (size_t t = 0; t < length; ++t) {
      CHECK((kept[b * length + t] != 0) == (t < sentence.tokens.size()));
      CHECK(tokens[b * length + t] == (t < sentence.tokens.size() ? sentence.tokens[t] : 0));
    }
  }
  CHECK_THROWS_WITH(SentenceClassification({}), "sentence classification: there is no sentence to train on");
}

TEST_CASE("a classifier is its language model with a head of its own", "[finetune]") {
  for (const char* name : {"smollm2", "llama1", "qwen2", "gpt2.gguf"}) {
    INFO(name);
    const auto model = classifier(name, 3);
    CHECK(model->config().output_dim == 3);
    const Tensor tokens = Tensor::from<int64_t>({1, 5}, {3, 1, 4, 1, 5});
    CHECK(model->forward(tokens).shape() == engine::Shape{1, 3});
    const auto twin = classifier(name, 3), other = classifier(name, 3, 2);
    CHECK(model->forward(tokens).value().to_vector<float>() == twin->forward(tokens).value().to_vector<float>());
    CHECK(model->forward(tokens).value().to_vector<float>() != other->forward(tokens).value().to_vector<float>());
  }
  CHECK(error_of([] { classifier("smollm2", 1); }) == "classifier: 1 classes; expected two or more");
}

TEST_CASE("predictions are in the order of the sentences, whatever goes together", "[finetune]") {
  const auto model = classifier("smollm2", 2);
  const std::vector<LabelledSentence> items = letters(17);
  const ClassPredictions together = predict_classes(*model, items, 6);
  for (size_t i = 0; i < items.size(); ++i) {
    const ClassPredictions own = predict_classes(*model, {items[i]});
    CHECK(own.predicted[0] == together.predicted[i]);
    CHECK(own.nats[0] == Approx(together.nats[i]).epsilon(1e-5));
    CHECK((own.predicted[0] == items[i].label) == (together.is_correct[i] == 1));
  }
  double correct = 0;
  for (const uint8_t each : together.is_correct) correct += each;
  CHECK(together.accuracy == Approx(correct / 17));
}

TEST_CASE("a classifier learns its sentences", "[finetune]") {
  const auto model = classifier("smollm2", 2);
  const std::vector<LabelledSentence> items = letters(24);
  const SentenceClassification task(items);
  const double before = predict_classes(*model, items).cross_entropy;
  TrainerConfig config;
  config.batch = 8, config.optimizer.lr = 3e-3, config.clip = 1;
  Trainer trainer(*model, task, config, engine::Rng(5));
  for (int step = 0; step < 60; ++step) trainer.step();
  const ClassPredictions after = predict_classes(*model, items);
  CHECK(after.cross_entropy < before / 2);
  CHECK(after.accuracy > 0.9);
}

}  // namespace headroom::tasks
