#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// A model that differs from a base in some weights, and in the shapes of some layers: what compressing or training a
/// model makes of it.
struct ModelEdit {
  TransformerConfig config;  ///< of the changed model
  /// Those that are not the base's, under our Transformer's own names ("blocks.2.attention.1.q_proj.weight_a"), f32 or
  /// f64.
  NamedTensors weights;
};

/// The weights of a base but for those of an edit.
class EditedWeights : public WeightSource {
 public:
  /// `options`: of the edit's weights. Throws Error naming a weight that is given twice.
  EditedWeights(std::unique_ptr<WeightSource> base, const NamedTensors& edit, const WeightOptions& options);
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return base_->dtype(); }
  /// Throws Error naming a weight of the edit that the model does not have. What the base has beyond it is left out.
  void finish() const override { edit_.finish(); }

 private:
  std::unique_ptr<WeightSource> base_;
  std::set<std::string> edited_;
  NamedWeights edit_;
};

/// The edited model. Throws Error as ModelFiles::load(), and naming a weight that the edit has in another shape, or
/// that neither has.
std::unique_ptr<Transformer> load(const ModelFiles& base, const ModelEdit& edit, const LoadOptions& options = {});
/// The same of a base in memory, on its device, whose matrices are not quantised. What the options do not train shares
/// the base's memory where it has their dtype.
std::unique_ptr<Transformer> load(const Transformer& base, const ModelEdit& edit,
                                  const WeightOptions& options = {.is_trained = none_trained});

}  // namespace headroom::models
