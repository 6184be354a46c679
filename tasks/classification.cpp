#include "tasks/classification.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "autograd/ops.h"
#include "engine/error.h"
#include "tasks/class_meter.h"

namespace headroom::tasks {

void validate(const ClassificationConfig& config) {
  require(config.classes >= 2, "classes: expected >= 2, got {}", config.classes);
  require(config.vocab >= config.classes, "vocab: expected >= classes = {}, got {}", config.classes, config.vocab);
  require(config.length >= 1, "length: expected >= 1, got {}", config.length);
}

Classification::Classification(const ClassificationConfig& config) : config_(config) { validate(config); }

ModelInterface Classification::model_interface() const {
  return {.length = config_.length, .vocab = config_.vocab, .output_dim = config_.classes, .pooled = true};
}

Tensor Classification::label(const Tensor& tokens_in) const {
  const Tensor tokens = tokens_in.contiguous();  // (B, T)
  const int64_t batch = tokens.dim(0), length = tokens.dim(1);
  std::vector<int64_t> labels(static_cast<size_t>(batch));
  std::vector<int64_t> counts(static_cast<size_t>(config_.classes));
  const int64_t* token = tokens.data<int64_t>();
  for (int64_t& label : labels) {
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t t = 0; t < length; ++t) ++counts[static_cast<size_t>(*token++ % config_.classes)];
    label = std::max_element(counts.begin(), counts.end()) - counts.begin();
  }
  return Tensor::from({batch}, labels);  // (B)
}

Batch Classification::sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const {
  const Tensor tokens = engine::random_integers({sequences, config_.length}, rng, stream, 0, config_.vocab);  // (B, T)
  return {tokens, label(tokens)};
}

Var Classification::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target);
}

std::unique_ptr<Meter> Classification::meter() const { return std::make_unique<ClassMeter>(); }

std::string Classification::describe() const {
  return fmt::format("classification of {} uniform tokens of {} into {} classes by the most frequent", config_.length,
                     config_.vocab, config_.classes);
}

}  // namespace headroom::tasks
