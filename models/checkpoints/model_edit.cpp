#include "models/checkpoints/model_edit.h"

#include "engine/context.h"
#include "engine/error.h"

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

ModelEdit classifier_of(ModelEdit model, int64_t classes, engine::Rng& rng) {
  TransformerConfig& config = model.config;
  require(classes >= 2, "classifier: {} classes; expected two or more", classes);
  require(config.causal && config.vocab > 0, "classifier: expected a causal model of tokens");
  config.tied = config.readout_bias = false;
  config.readout_width = 0;
  config.output_dim = classes;
  config.pooling = Pooling::last;
  std::erase_if(model.weights, [](const auto& weight) { return weight.first.starts_with("readout."); });
  model.weights.emplace_back("readout.weight",
                             engine::random_normal({classes, config.width}, rng, "init", 0, 0.02));  // (classes, D)
  return model;
}

}  // namespace headroom::models
