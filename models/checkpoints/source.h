#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/names.h"
#include "models/weights/source.h"
#include "models/weights/sources.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// In what form the matrices of a trained model are kept in memory.
enum class Keep {
  computed,  ///< in the dtype of the computation: f32 or f64
  bf16,      ///< rounded to bf16, widened when they are multiplied
  stored,    ///< as the file has them, blocks and 16-bit numbers too; nothing is copied out of the mapped file
};

/// Weights from the files of a trained model, under its own names. Matrices are kept as `keep` says where they are not
/// trained; all else in the options' dtype. They lie on the context's device. Errors name file and tensor.
class PretrainedWeights : public WeightSource {
 public:
  /// `fused_qkv`: queries, keys and values are one matrix in the files.
  PretrainedWeights(std::shared_ptr<const TensorStore> store, NameScheme scheme, Keep keep, WeightOptions options,
                    bool fused_qkv = false);
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return options_.dtype; }
  /// Throws Error naming a tensor of the files that no weight was read from.
  void finish() const override;

 private:
  /// What the files hold for our `name`, of that shape: its part of a fused tensor, still transposed.
  StoredTensor found(const std::string& name, const WeightPlace& place, const Shape& shape);
  /// What was found was copied: its pages of the mapped file need not stay in memory beside the copy.
  void release(const WeightPlace& place) const { store_->release(place.name); }

  std::shared_ptr<const TensorStore> store_;
  NameScheme scheme_;
  Keep keep_;
  WeightOptions options_;
  bool fused_qkv_;
  std::set<std::string> unused_;
};

}  // namespace headroom::models
