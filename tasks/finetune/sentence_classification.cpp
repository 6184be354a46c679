#include "tasks/finetune/sentence_classification.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/argmax/argmax.h"
#include "tasks/class_meter.h"
#include "tasks/no_throw.h"
#include "tasks/permutation.h"

namespace headroom::tasks {

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
