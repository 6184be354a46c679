#include "tasks/induction_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/clamp/clamp.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/comparison.h"
#include "engine/ops/sum/sum.h"
#include "models/transformer.h"
#include "tasks/attention_lags.h"
#include "tasks/permutation.h"
#include "tasks/regression.h"

namespace headroom::tasks {
namespace {

constexpr ScoredRows scored_rows{.zero_is_unscored = true};

/// Uniform on [0, range).
int64_t below(int64_t range, uint32_t bits) {
  return static_cast<int64_t>((uint64_t{bits} * static_cast<uint64_t>(range)) >> 32);
}

}  // namespace

void validate(const InductionHeadConfig& config) {
  require(config.tokens >= 2, "tokens: expected >= 2, got {}", config.tokens);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  require(config.pattern >= 3, "pattern: expected >= 3, got {}", config.pattern);
  require(config.repeats >= 2, "repeats: expected >= 2, got {}", config.repeats);
  require(config.pattern * config.repeats <= config.length,
          "repeats: {} patterns of {} tokens do not fit into length {}", config.repeats, config.pattern, config.length);
  require(config.train_sequences >= 1, "train_sequences: expected >= 1, got {}", config.train_sequences);
  require(config.data_seed >= 0, "data_seed: expected >= 0, got {}", config.data_seed);
  require(config.n >= 2 && config.n < config.length, "n: expected 2 <= n < length = {}, got {}", config.length,
          config.n);
  require(config.attention_lags >= 0 && config.attention_lags <= most_attention_lags &&
              config.attention_lags < config.length,
          "attention_lags: expected 0 to {} and below length = {}, got {}", most_attention_lags, config.length,
          config.attention_lags);
  require(std::isfinite(config.lambda), "lambda: {} is not finite", config.lambda);
}

InductionHead::InductionHead(const InductionHeadConfig& config) : config_(config) {
  validate(config);
  for (int64_t i = 0; i < config.train_sequences; ++i)
    train_.push_back(sequence(static_cast<uint64_t>(config.data_seed), "sequences", i));
}

ModelInterface InductionHead::model_interface() const {
  return {.length = config_.length, .input_dim = config_.tokens, .output_dim = config_.tokens};
}

InductionHead::Sequence InductionHead::sequence(uint64_t seed, const std::string& stream, int64_t i) const {
  const int64_t length = config_.length, pattern = config_.pattern, repeats = config_.repeats;
  const engine::RngKey key = StreamBlock{seed, stream, i}.key(length + pattern + repeats);
  const auto draw = [&](int64_t at, int64_t range) {
    return below(range, engine::random_bits(key, static_cast<uint64_t>(at)));
  };
  Sequence out;
  for (int64_t t = 0; t < length; ++t) out.tokens.push_back(draw(t, config_.tokens));
  for (int64_t r = 0; r < repeats; ++r)
    out.starts.push_back(draw(length + pattern + r, length - repeats * pattern + 1));
  std::sort(out.starts.begin(), out.starts.end());
  for (int64_t r = 0; r < repeats; ++r) {
    int64_t& start = out.starts[static_cast<size_t>(r)];
    start += r * pattern;
    for (int64_t j = 0; j < pattern; ++j) out.tokens[static_cast<size_t>(start + j)] = draw(length + j, config_.tokens);
  }
  return out;
}

std::vector<float> InductionHead::target(const Sequence& sequence) const {
  const int64_t length = config_.length, width = config_.tokens;
  const auto token = [&](int64_t t) { return sequence.tokens[static_cast<size_t>(t)]; };
  std::vector<float> y(static_cast<size_t>(length * width));  // (T, tokens)
  if (config_.target == InductionTarget::copy) {
    for (size_t r = 1; r < sequence.starts.size(); ++r)
      for (int64_t t = sequence.starts[r] + 1; t < sequence.starts[r] + config_.pattern - 1; ++t)
        y[static_cast<size_t>(t * width + token(t + 1))] = 1;
    return y;
  }
  std::vector<double> weight(static_cast<size_t>(width));
  for (int64_t t = 0; t < length; ++t) {
    std::fill(weight.begin(), weight.end(), 0.0);
    double sum = 0;
    for (int64_t v = config_.n - 1; v <= (config_.sees_current ? t : t - 1); ++v) {
      int64_t matches = 0;
      for (int64_t j = 0; j < config_.n - 1; ++j) matches += token(t - j) == token(v - 1 - j) ? 1 : 0;
      // Relative to the largest logit there can be, so that nothing overflows.
      const double e = std::exp(config_.lambda * static_cast<double>(matches) -
                                std::max(config_.lambda, 0.0) * static_cast<double>(config_.n - 1));
      weight[static_cast<size_t>(token(v))] += e;
      sum += e;
    }
    for (int64_t k = 0; k < width && sum > 0; ++k)
      y[static_cast<size_t>(t * width + k)] = static_cast<float>(weight[static_cast<size_t>(k)] / sum);
  }
  return y;
}

Batch InductionHead::batch_of(const std::vector<const Sequence*>& sequences) const {
  const auto count = static_cast<int64_t>(sequences.size());
  const int64_t row = config_.length * config_.tokens;
  Batch batch{.input = Tensor::zeros({count, config_.length, config_.tokens}),    // (B, T, tokens)
              .target = Tensor::empty({count, config_.length, config_.tokens})};  // (B, T, tokens)
  for (int64_t b = 0; b < count; ++b) {
    const Sequence& sequence = *sequences[static_cast<size_t>(b)];
    float* x = batch.input.mutable_data<float>() + b * row;
    for (int64_t t = 0; t < config_.length; ++t) x[t * config_.tokens + sequence.tokens[static_cast<size_t>(t)]] = 1;
    const std::vector<float> y = target(sequence);
    std::copy(y.begin(), y.end(), batch.target.mutable_data<float>() + b * row);
  }
  return batch;
}

std::vector<int64_t> InductionHead::permutation(uint64_t seed, int64_t epoch) const {
  return shuffled(std::ssize(train_), {seed, "shuffle", epoch});
}

Batch InductionHead::train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const {
  const auto count = static_cast<int64_t>(train_.size());
  std::vector<const Sequence*> chosen;
  std::vector<int64_t> order;
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t at = step * sequences + i;  // in the endless row of all epochs
    if (order.empty() || at % count == 0) order = permutation(rng.seed(), at / count);
    chosen.push_back(&train_[static_cast<size_t>(order[static_cast<size_t>(at % count)])]);
  }
  return batch_of(chosen);
}

Batch InductionHead::evaluation(Split split, int64_t sequences) const {
  std::vector<Sequence> made;
  for (int64_t i = 0; i < sequences; ++i)
    made.push_back(sequence(evaluation_seed, split == Split::validation ? "validation" : "test", i));
  std::vector<const Sequence*> chosen;
  for (const Sequence& one : made) chosen.push_back(&one);
  return batch_of(chosen);
}

Var InductionHead::loss(const Var& output, const Batch& batch) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor& y = batch.target;  // (B, T, tokens)
  const Tensor numbers = engine::not_equal(y, 0).to(y.dtype());
  const Tensor mask = engine::clamp(engine::sum(numbers, {2}, true), 0, 1);        // (B, T, 1): 1 where one is not 0
  const Tensor scored = engine::clamp(engine::sum(mask, {}, false), 1, infinity);  // ()
  const Tensor rows = Tensor::full({}, static_cast<double>(mask.numel()), y.dtype(), y.device());
  // The target is 0 wherever the mask is.
  return autograd::mse(autograd::cast(output, y.dtype()) * Var(mask), Var(y)) * Var(engine::div(rows, scored));
}

std::unique_ptr<Meter> InductionHead::meter() const {
  return std::make_unique<RegressionMeter>("induction head", scored_rows);
}

std::vector<std::pair<double, double>> InductionHead::predictions(const Tensor& output, const Batch& batch) const {
  return regression_pairs(output, batch.target, scored_rows);
}

double InductionHead::match_share(const models::Transformer& model, const Batch& batch) const {
  const int64_t sequences = batch.input.dim(0), length = config_.length, width = config_.tokens;
  const int64_t compared = config_.target == InductionTarget::copy ? 1 : config_.n - 1;
  const std::vector<float> x = batch.input.to_vector<float>(), y = batch.target.to_vector<float>();
  std::vector<int64_t> tokens;  // (B, T), of one-hot rows
  for (auto row = x.begin(); row != x.end(); row += width) tokens.push_back(std::max_element(row, row + width) - row);
  const auto is_match = [&](int64_t b, int64_t t, int64_t v) {
    for (int64_t j = 0; j < compared; ++j)
      if (v - 1 - j < 0 ||
          tokens[static_cast<size_t>(b * length + t - j)] != tokens[static_cast<size_t>(b * length + v - 1 - j)])
        return false;
    return true;
  };
  const auto has_match = [&](int64_t b, int64_t t) {
    for (int64_t v = 1; v <= t; ++v)
      if (is_match(b, t, v)) return true;
    return false;
  };
  const auto is_scored = [&](int64_t b, int64_t t) {
    const auto row = y.begin() + (b * length + t) * width;
    const bool has_target = std::any_of(row, row + width, [](float value) { return value != 0; });
    return t >= compared - 1 && has_target && has_match(b, t);
  };
  int64_t scored = 0;
  double most = 0;
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t t = 0; t < length; ++t) scored += is_scored(b, t) ? 1 : 0;
  const int64_t layer = model.config().layers - 1;
  for (const Tensor& group : attention_probabilities(model, batch, layer, layer + 1)) {
    const int64_t heads = group.dim(1);
    const std::vector<double> p = group.to_vector<double>();
    std::vector<double> sums(static_cast<size_t>(heads), 0.0);
    for (int64_t row = 0; row < sequences * heads; ++row)
      for (int64_t t = 0, b = row / heads; t < length; ++t) {
        if (!is_scored(b, t)) continue;
        for (int64_t v = 1; v <= t; ++v)
          if (is_match(b, t, v))
            sums[static_cast<size_t>(row % heads)] += p[static_cast<size_t>((row * length + t) * length + v)];
      }
    most = std::max(most, *std::max_element(sums.begin(), sums.end()));
  }
  return scored > 0 ? most / static_cast<double>(scored) : 0;
}

Metrics InductionHead::probes(const models::Transformer& model, const Batch& batch) const {
  if (config_.attention_lags == 0 || !model.config().causal || batch.input.dim(0) == 0) return {};
  Metrics metrics{{"match_share", match_share(model, batch)}};
  for (int64_t layer = 0; layer < std::min<int64_t>(model.config().layers, probed_layers); ++layer)
    metrics.merge(
        head_lag_metrics(head_lags(model, batch, config_.attention_lags, layer), fmt::format("layer_{}_", layer + 1)));
  return metrics;
}

std::string InductionHead::describe() const {
  const std::string target =
      config_.target == InductionTarget::copy
          ? "copy"
          : fmt::format("IH_{} with λ = {}{}", config_.n, config_.lambda, config_.sees_current ? ", v <= t" : "");
  return fmt::format("induction head, {}, {} of {} tokens, {} x a pattern of {}, {} training sequences", target,
                     config_.length, config_.tokens, config_.repeats, config_.pattern, config_.train_sequences);
}

std::set<std::string> metric_names_of(const InductionHeadConfig& config) {
  std::set<std::string> names = regression_metrics();
  if (config.attention_lags == 0) return names;
  names.insert("match_share");
  for (int64_t layer = 1; layer <= probed_layers; ++layer)
    for (const std::string& name : head_lag_names(config.attention_lags, fmt::format("layer_{}_", layer)))
      names.insert(name);
  return names;
}

}  // namespace headroom::tasks
