#include "tasks/finetune/sentence_classification.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/argmax/argmax.h"
#include "tasks/class_meter.h"
#include "tasks/data/table.h"
#include "tasks/no_throw.h"
#include "tasks/permutation.h"

namespace headroom::tasks {
namespace {

/// More than a table of sentences has: a label beyond it is something else than a class number.
constexpr int64_t most_classes = 1000;

/// The column of the sentences. Throws Error where none is named and it is not clear which.
size_t text_column(const std::vector<std::string>& names, const SentenceTable& table, size_t label) {
  if (!table.text.empty()) return column_named(names, table.text);
  require(names.size() == 2, "{} columns: name the one with the sentences", names.size());
  return 1 - label;
}

}  // namespace

LabelledSentences read_sentences(const std::filesystem::path& path, const SentenceTable& table,
                                 const models::Tokenizer& tokenizer) {
  LabelledSentences read;
  size_t text = 0, label = 0;
  for_each_row(
      path, "table of sentences",
      [&](const std::vector<std::string>& names) {
        label = column_named(names, table.label);
        text = text_column(names, table, label);
      },
      [&](int64_t, const std::vector<std::string_view>& cells) {
        LabelledSentence item;
        item.label = class_number(cells[label], table.classes > 0 ? table.classes : most_classes, "classes");
        item.tokens = tokenizer.encode(cells[text], models::Specials::plain);
        if (table.bos) item.tokens.insert(item.tokens.begin(), *table.bos);
        const auto length = static_cast<int64_t>(item.tokens.size());
        require(length > 0, "the sentence is empty");
        require(length <= table.longest, "the sentence has {} tokens; the model reads {}", length, table.longest);
        read.items.push_back(std::move(item));
      });
  for (const LabelledSentence& item : read.items) read.classes = std::max(read.classes, item.label + 1);
  if (table.classes > 0) read.classes = table.classes;
  return read;
}

std::vector<LabelledSentence> sample_sentences(const std::vector<LabelledSentence>& items, int64_t count,
                                               uint64_t seed) {
  const auto all = static_cast<int64_t>(items.size());
  if (count >= all) return items;
  std::vector<int64_t> drawn = permutation(all, {seed, "sample", 0});
  drawn.resize(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::sort(drawn.begin(), drawn.end());
  std::vector<LabelledSentence> sampled;
  for (const int64_t i : drawn) sampled.push_back(items[static_cast<size_t>(i)]);
  return sampled;
}

Batch batch_of(const std::vector<LabelledSentence>& sentences) {
  size_t longest = 0;
  for (const LabelledSentence& sentence : sentences) longest = std::max(longest, sentence.tokens.size());
  std::vector<int64_t> tokens, labels;
  std::vector<uint8_t> kept;
  for (const LabelledSentence& sentence : sentences) {
    tokens.insert(tokens.end(), sentence.tokens.begin(), sentence.tokens.end());
    kept.insert(kept.end(), sentence.tokens.size(), 1);
    labels.push_back(sentence.label);
    tokens.resize(labels.size() * longest, 0);
    kept.resize(tokens.size(), 0);
  }
  const auto batch = static_cast<int64_t>(sentences.size()), length = static_cast<int64_t>(longest);
  return {.input = Tensor::from({batch, length}, tokens),                               // (B, T)
          .target = Tensor::from({batch}, labels),                                      // (B)
          .key_mask = Tensor::from({batch, length}, kept).to(engine::DType::boolean)};  // (B, T)
}

SentenceClassification::SentenceClassification(std::vector<LabelledSentence> sentences)
    : sentences_(std::move(sentences)) {
  require(!sentences_.empty(), "sentence classification: there is no sentence to train on");
}

int64_t SentenceClassification::steps_per_epoch(int64_t sequences) const {
  return (static_cast<int64_t>(sentences_.size()) + sequences - 1) / sequences;
}

std::vector<int64_t> SentenceClassification::examples(int64_t step, int64_t sequences, uint64_t seed) const {
  const int64_t steps = steps_per_epoch(sequences), first = step % steps * sequences;
  const auto count = static_cast<int64_t>(sentences_.size());
  const std::vector<int64_t> order = permutation(count, {seed, "data", step / steps});
  return {order.begin() + first, order.begin() + std::min(count, first + sequences)};
}

Batch SentenceClassification::train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const {
  std::vector<LabelledSentence> batch;
  for (const int64_t i : examples(step, sequences, rng.seed())) batch.push_back(sentences_[static_cast<size_t>(i)]);
  return batch_of(batch);
}

Var SentenceClassification::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target);
}

ClassPredictions predict_classes(const models::Transformer& model, const std::vector<LabelledSentence>& sentences,
                                 int64_t sequences, const std::function<void(int64_t)>& progress) {
  require(!sentences.empty(), "predict classes: there is no sentence");
  const autograd::NoGrad no_grad;
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sentences[a].tokens.size() < sentences[b].tokens.size(); });
  ClassPredictions out{.predicted = std::vector<int64_t>(sentences.size()),
                       .is_correct = std::vector<uint8_t>(sentences.size()),
                       .nats = std::vector<double>(sentences.size())};
  const auto step = static_cast<size_t>(std::max<int64_t>(1, sequences));
  for (size_t begin = 0; begin < order.size(); begin += step) {
    const size_t end = std::min(order.size(), begin + step);
    std::vector<LabelledSentence> part;
    for (size_t i = begin; i < end; ++i) part.push_back(sentences[order[i]]);
    const Batch batch = batch_of(part);
    const Tensor logits =
        model.forward(batch.input, {.key_mask = batch.key_mask}).value().to(engine::DType::f32);  // (B, classes)
    const Tensor likeliest = engine::argmax(logits, {-1});                                        // (B)
    const std::vector<ClassScore> scores = score_classes(logits, batch.target);
    const std::vector<int64_t> predicted = likeliest.to_vector<int64_t>();
    for (size_t i = begin; i < end; ++i) {
      const ClassScore& score = scores[i - begin];
      require(std::isfinite(score.nats), "predict classes: a logit of sentence {} is not finite", order[i]);
      out.predicted[order[i]] = predicted[i - begin];
      out.is_correct[order[i]] = score.is_correct ? 1 : 0;
      out.nats[order[i]] = score.nats;
    }
    if (progress) progress(static_cast<int64_t>(end));
  }
  const auto count = static_cast<double>(sentences.size());
  out.accuracy = static_cast<double>(std::count(out.is_correct.begin(), out.is_correct.end(), 1)) / count;
  out.cross_entropy = std::accumulate(out.nats.begin(), out.nats.end(), 0.0) / count;
  return out;
}

McNemar mcnemar(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second) {
  require(first.size() == second.size(), "McNemar's test: {} items against {}", first.size(), second.size());
  McNemar out;
  for (size_t i = 0; i < first.size(); ++i) {
    out.only_first += first[i] && !second[i] ? 1 : 0;
    out.only_second += second[i] && !first[i] ? 1 : 0;
  }
  const int64_t differ = out.only_first + out.only_second;
  if (differ == 0) return out;
  const boost::math::binomial_distribution<double, NoThrow> coins(static_cast<double>(differ), 0.5);
  out.p = std::min(1.0, 2 * boost::math::cdf(coins, static_cast<double>(std::min(out.only_first, out.only_second))));
  return out;
}

}  // namespace headroom::tasks
