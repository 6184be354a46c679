#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "tasks/regression.h"

namespace headroom::tasks {

struct RetrievalConfig {
  using Made = class Retrieval;
  int64_t features = 4;     ///< D, the target's intrinsic dimension
  int64_t token_dim = 4;    ///< d
  int64_t length = 16;      ///< T
  int64_t vector_seed = 0;  ///< of the directions a_i
};

/// Throws Error naming the field and what is allowed.
void validate(const RetrievalConfig& config);

/// A D-retrieval target (Yu, Bao, Jiang, Yu & Li, The Effect of Attention Head Count on Transformer Approximation,
/// arXiv 2510.06662): each of D features is the largest value of its own function over the whole sequence, and y puts
/// them together,
///   y = Σ_i max_s a_i·x_s,   x_s uniform in [0, 1]^d, a_i a random direction.
/// It is asked for at every position.
class Retrieval : public RegressionTask {
 public:
  explicit Retrieval(const RetrievalConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  std::string describe() const override;

  /// x f32 (B, T, d) → y (B, T, 1), the same at every position.
  Tensor target(const Tensor& x) const override;
  const Tensor& directions() const { return directions_; }  ///< f32 (D, d), rows of norm 1

 private:
  RetrievalConfig config_;
  Tensor directions_;
};

inline std::set<std::string> metric_names_of(const RetrievalConfig&) { return regression_metrics(); }

}  // namespace headroom::tasks
