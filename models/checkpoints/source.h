#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/names.h"
#include "models/weights/source.h"
#include "models/weights/sources.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// How a trained model's matrices are kept in memory.
enum class Keep {
  computed,  ///< in the computation's dtype: f32 or f64
  bf16,      ///< rounded to bf16, widened for products
  stored,    ///< as in the file, including blocks and 16-bit numbers; nothing is copied out of the mapped file
};

/// Weights from a trained model's files, under its own names, on the context's device. Matrices that are not trained
/// are kept as `keep` says, all else in the options' dtype. Errors name file and tensor.
class PretrainedWeights : public WeightSource {
 public:
  /// `fused_qkv`: queries, keys and values are one matrix in the files.
  PretrainedWeights(std::shared_ptr<const TensorStore> store, NameScheme scheme, Keep keep, WeightOptions options,
                    bool fused_qkv = false);
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return options_.dtype; }
  /// Throws Error naming a tensor in the files that no weight used.
  void finish() const override;

 private:
  /// The stored tensor for our `name`, of that shape: its part of a fused tensor, still transposed.
  StoredTensor found(const std::string& name, const WeightPlace& place, const Shape& shape);
  /// Drops the pages of a tensor that was copied: they need not stay in memory next to the copy.
  void release(const WeightPlace& place) const { store_->release(place.name); }

  std::shared_ptr<const TensorStore> store_;
  NameScheme scheme_;
  Keep keep_;
  WeightOptions options_;
  bool fused_qkv_;
  std::set<std::string> unused_;
};

}  // namespace headroom::models
