#include "models/checkpoints/model_edit.h"

#include "engine/context.h"

namespace headroom::models {

EditedWeights::EditedWeights(std::unique_ptr<WeightSource> base, const NamedTensors& edit, const WeightOptions& options)
    : base_(std::move(base)), edit_(edit, options) {
  for (const auto& [name, tensor] : edit) edited_.insert(name);
}

Weight EditedWeights::matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) {
  return edited_.contains(name) ? edit_.matrix(name, out, in, draw) : base_->matrix(name, out, in, draw);
}

Var EditedWeights::tensor(const std::string& name, const Shape& shape, const Draw& draw) {
  return edited_.contains(name) ? edit_.tensor(name, shape, draw) : base_->tensor(name, shape, draw);
}

std::unique_ptr<Transformer> load(const ModelFiles& base, const ModelEdit& edit, const LoadOptions& options) {
  base.require_run();
  EditedWeights source(base.weights(options), edit.weights, options.weights);
  return std::make_unique<Transformer>(edit.config, source);
}

std::unique_ptr<Transformer> load(const Transformer& base, const ModelEdit& edit, const WeightOptions& options) {
  const engine::DeviceScope scope(base.device());
  EditedWeights source(std::make_unique<NamedWeights>(base.weights(), options), edit.weights, options);
  return std::make_unique<Transformer>(edit.config, source);
}

}  // namespace headroom::models
