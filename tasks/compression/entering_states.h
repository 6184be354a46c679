#pragma once
#include <cstdint>
#include <vector>

#include "models/transformer.h"
#include "tasks/measure/language_model.h"

namespace headroom::tasks {

/// The hidden states of a model on texts, kept before its layers, so that a model which differs from it from some layer
/// on runs from that layer on. Kept per token: D numbers of f32 before every `stride`-th layer and after the last.
/// Threads: one adds, any number run.
class EnteringStates {
 public:
  /// The base must outlive it. Throws Error unless stride is in [1, layers].
  explicit EnteringStates(const models::Transformer& base, int64_t stride = 1);

  /// Runs the base on further texts. Throws Error for an empty one.
  void add(const TokenBatch& texts);
  size_t texts() const { return final_.size(); }
  /// After the base's last layer: of each text (1, T, D).
  const std::vector<Tensor>& final() const { return final_; }
  /// After the last layer of a model that is the base below layer `first`, with keys and values rounded as its heads
  /// name the types of their cache: of texts [begin, begin + count), (1, T, D)
  /// each. Throws Error unless first is in [0, layers].
  std::vector<Tensor> run(const models::Transformer& model, int64_t first, size_t begin, size_t count) const;

 private:
  const models::Transformer& base_;
  int64_t stride_;
  std::vector<std::vector<Tensor>> entering_;  ///< before layer i · stride_: of each text (1, T, D)
  std::vector<Tensor> final_;
};

}  // namespace headroom::tasks
