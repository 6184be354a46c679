#include "tasks/language/next_token.h"

#include <algorithm>

#include "autograd/ops.h"
#include "engine/error.h"
#include "tasks/language/token_meter.h"
#include "tasks/language/windows.h"

namespace headroom::tasks {
namespace {

/// A window's inputs and, one later, its targets.
constexpr int64_t target_shift = 1;

NextTokenConfig checked(const NextTokenConfig& config) {
  validate(config);
  return config;
}

}  // namespace

void validate(const NextTokenConfig& config) {
  require(config.length >= 1, "length: expected >= 1, got {}", config.length);
  validate(config.corpus);
  const bool is_markov = config.corpus.source == "markov";
  require(!is_markov || config.corpus.markov.order <= config.length,
          "length: expected at least markov.order = {}, got {}", config.corpus.markov.order, config.length);
}

NextToken::NextToken(const NextTokenConfig& config, const DataRoots& roots)
    : config_(checked(config)), corpus_(config.corpus, roots, config.length) {}

ModelInterface NextToken::model_interface() const {
  return {.length = config_.length, .vocab = corpus_.vocab(), .output_dim = corpus_.vocab(), .predicts = true};
}

Batch NextToken::batch(TokenSpan tokens, const std::vector<int64_t>& starts) const {
  Batch batch{gather_windows(tokens, starts, 0, config_.length),              // (B, T)
              gather_windows(tokens, starts, target_shift, config_.length)};  // (B, T)
  auto* target = batch.target.mutable_data<int64_t>();
  for (size_t b = 0; b < starts.size(); ++b)
    for (int64_t t = 0; t + 1 < corpus_.order(); ++t)
      target[static_cast<int64_t>(b) * config_.length + t] = ignore_index;
  return batch;
}

Batch NextToken::train_batch(int64_t, int64_t sequences, engine::Rng& rng) const {
  const TokenSpan tokens = corpus_.train();
  return batch(tokens,
               random_windows(static_cast<int64_t>(tokens.size()), config_.length + target_shift, sequences, rng));
}

Batch NextToken::evaluation(Split split, int64_t sequences) const {
  const TokenSpan tokens = split == Split::validation ? corpus_.validation() : corpus_.test();
  return batch(tokens, even_windows(static_cast<int64_t>(tokens.size()), config_.length + target_shift, config_.length,
                                    sequences));
}

Var NextToken::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target, autograd::Reduction::mean, ignore_index);
}

std::unique_ptr<Meter> NextToken::meter() const {
  TokenMeterConfig meter;
  meter.characters = corpus_.characters();
  meter.entropy_rate = corpus_.entropy_rate();
  return std::make_unique<TokenMeter>(std::move(meter));
}

std::string NextToken::describe() const {
  return fmt::format("next token, context {}: {}", config_.length, corpus_.describe());
}

std::set<std::string> metric_names_of(const NextTokenConfig& config) {
  std::set<std::string> names = token_metrics("accuracy", true);
  if (config.corpus.source == "markov") names.insert("excess");
  return names;
}

}  // namespace headroom::tasks
