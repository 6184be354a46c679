#pragma once
#include <set>
#include <string>
#include "tasks/sampled_task.h"

namespace headroom::tasks {

struct ClassificationConfig {
  using Made = class Classification;
  int64_t vocab = 1000;
  int64_t classes = 10;
  int64_t length = 256;  ///< T
};

/// Throws Error naming the field and what is allowed.
void validate(const ClassificationConfig& config);

/// Asks which class of token is the most frequent. Tokens are uniform over the vocabulary, token v belongs to class v
/// mod classes, and the smaller class wins a tie. One answer per sequence: a load shaped like text classification
/// without data on disk (the paper's efficiency analysis says only "synthetic sequences"). Metrics: "cross_entropy"
/// (nats), "accuracy".
class Classification : public SampledTask {
 public:
  explicit Classification(const ClassificationConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  /// output (B, classes) → scalar.
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string criterion() const override { return "cross_entropy"; }
  std::string describe() const override;

  /// tokens i64 (B, T) → classes i64 (B).
  Tensor label(const Tensor& tokens) const;

 private:
  ClassificationConfig config_;
};

/// The names of a config's metrics.
inline std::set<std::string> metric_names_of(const ClassificationConfig&) { return {"cross_entropy", "accuracy"}; }

}  // namespace headroom::tasks
