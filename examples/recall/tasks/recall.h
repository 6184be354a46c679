#pragma once
#include <fmt/core.h>

#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "engine/error.h"
#include "tasks/class_meter.h"
#include "tasks/sampled_task.h"

namespace headroom::tasks {

struct RecallConfig {
  using Made = class Recall;
  int64_t keys = 16, values = 16;  ///< distinct tokens of each
  int64_t pairs = 8;               ///< shown before the question
};

/// Throws Error naming the field and what is allowed.
inline void validate(const RecallConfig& config) {
  require(config.values >= 2, "values: expected >= 2, got {}", config.values);
  require(config.pairs >= 1 && config.pairs <= config.keys, "pairs: expected 1 to keys = {}, got {}", config.keys,
          config.pairs);
}

/// Associative recall (Ba et al. 2016, arXiv:1610.06258): k v k v … k → the value that followed that key. The keys of a
/// sequence differ; only its last position is scored. Metrics: "cross_entropy" (nats), "accuracy".
class Recall : public SampledTask {
 public:
  explicit Recall(const RecallConfig& config) : config_(config) { validate(config); }

  ModelInterface model_interface() const override {
    return {.length = length(), .vocab = config_.keys + config_.values, .output_dim = config_.values};
  }

  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override {
    std::vector<int64_t> tokens = engine::random_integers({sequences, length()}, rng, stream, 0, int64_t{1} << 30)
                                      .to_vector<int64_t>();  // (B, T)
    std::vector<int64_t> answers(tokens.size(), ignore_index), keys(static_cast<size_t>(config_.keys));
    for (int64_t* row = tokens.data(); row != tokens.data() + tokens.size(); row += length()) {
      std::iota(keys.begin(), keys.end(), 0);
      for (int64_t i = 0; i < config_.pairs; ++i) {
        std::swap(keys[static_cast<size_t>(i)], keys[static_cast<size_t>(i + row[2 * i] % (config_.keys - i))]);
        row[2 * i] = keys[static_cast<size_t>(i)];
        row[2 * i + 1] = config_.keys + row[2 * i + 1] % config_.values;
      }
      int64_t& question = row[2 * config_.pairs];
      const int64_t asked = question % config_.pairs;
      question = row[2 * asked];
      answers[static_cast<size_t>(&question - tokens.data())] = row[2 * asked + 1] - config_.keys;
    }
    return {Tensor::from({sequences, length()}, tokens), Tensor::from({sequences, length()}, answers)};
  }

  /// output (B, T, values) → scalar.
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
  std::unique_ptr<Meter> meter() const override { return std::make_unique<ClassMeter>(); }
  std::string criterion() const override { return "cross_entropy"; }
  std::string describe() const override {
    return fmt::format("recall of one of {} values by its key, {} pairs", config_.values, config_.pairs);
  }

 private:
  int64_t length() const { return 2 * config_.pairs + 1; }

  RecallConfig config_;
};

/// The names of its metrics for a config.
inline std::set<std::string> metric_names_of(const RecallConfig&) { return {"cross_entropy", "accuracy"}; }

}  // namespace headroom::tasks
