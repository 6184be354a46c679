#include "tasks/language/corpus_tasks.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "tasks/language/token_meter.h"
#include "tasks/language/windows.h"

namespace headroom::tasks {
namespace {

/// A window's inputs and, one later, its targets.
constexpr int64_t target_shift = 1;

/// Random values per token: is it chosen, how is it replaced, by which other one.
constexpr int64_t draws = 3;

double unit(uint32_t bits) { return bits * 0x1p-32; }

}  // namespace

template <class Config>
Var CorpusTask<Config>::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target, autograd::Reduction::mean, ignore_index);
}

template class CorpusTask<NextTokenConfig>;
template class CorpusTask<MaskedConfig>;

void validate(const NextTokenConfig& config) {
  require(config.length >= 1, "length: expected >= 1, got {}", config.length);
  validate(config.corpus);
  const bool is_markov = config.corpus.source == "markov";
  require(!is_markov || config.corpus.markov.order <= config.length,
          "length: expected at least markov.order = {}, got {}", config.corpus.markov.order, config.length);
}

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

void validate(const MaskedConfig& config) {
  require(config.length >= 1, "length: expected >= 1, got {}", config.length);
  require(config.masked > 0 && config.masked <= 1, "masked: expected 0 < share <= 1, got {}", config.masked);
  require(config.replaced_by_mask >= 0 && config.replaced_by_any >= 0 &&
              config.replaced_by_mask + config.replaced_by_any <= 1,
          "replaced_by_mask, replaced_by_any: expected shares >= 0 of at most 1 together, got {} and {}",
          config.replaced_by_mask, config.replaced_by_any);
  validate(config.corpus);
}

ModelInterface Masked::model_interface() const {
  return {.length = config_.length, .vocab = corpus_.vocab() + 1, .output_dim = corpus_.vocab() + 1};
}

Batch Masked::masked(const Tensor& tokens, const engine::RngKey& key) const {
  Batch batch{tokens.clone(), tokens};  // (B, T), (B, T)
  auto* input = batch.input.mutable_data<int64_t>();
  auto* target = batch.target.mutable_data<int64_t>();
  for (int64_t i = 0; i < tokens.numel(); ++i) {
    const auto draw = [&](int64_t j) { return engine::random_bits(key, static_cast<uint64_t>(i * draws + j)); };
    if (unit(draw(0)) >= config_.masked) {
      target[i] = ignore_index;
      continue;
    }
    const double fate = unit(draw(1));
    if (fate < config_.replaced_by_mask) input[i] = mask_id();
    else if (fate < config_.replaced_by_mask + config_.replaced_by_any)
      input[i] = static_cast<int64_t>(unit(draw(2)) * static_cast<double>(corpus_.vocab()));
  }
  return batch;
}

Batch Masked::train_batch(int64_t, int64_t sequences, engine::Rng& rng) const {
  const TokenSpan tokens = corpus_.train();
  const std::vector<int64_t> starts =
      random_windows(static_cast<int64_t>(tokens.size()), config_.length, sequences, rng);
  return masked(gather_windows(tokens, starts, 0, config_.length),
                rng.take("mask", sequences * config_.length * draws));
}

Batch Masked::evaluation(Split split, int64_t sequences) const {
  const bool is_validation = split == Split::validation;
  const TokenSpan tokens = is_validation ? corpus_.validation() : corpus_.test();
  const std::vector<int64_t> starts =
      even_windows(static_cast<int64_t>(tokens.size()), config_.length, config_.length, sequences);
  engine::Rng rng(evaluation_seed);
  return masked(gather_windows(tokens, starts, 0, config_.length),
                rng.take(is_validation ? "validation mask" : "test mask",
                         static_cast<int64_t>(starts.size()) * config_.length * draws));
}

std::unique_ptr<Meter> Masked::meter() const {
  TokenMeterConfig meter;
  meter.accuracy = "masked_accuracy";
  return std::make_unique<TokenMeter>(std::move(meter));
}

std::string Masked::describe() const {
  return fmt::format("masked tokens ({} %), length {}: {}", 100 * config_.masked, config_.length, corpus_.describe());
}

std::set<std::string> metric_names_of(const MaskedConfig&) { return token_metrics("masked_accuracy", false); }

}  // namespace headroom::tasks
