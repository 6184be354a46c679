#include "models/checkpoints/classifier.h"

#include "engine/error.h"

namespace headroom::models {

ModelEdit classifier_of(ModelEdit model, int64_t classes, engine::Rng& rng) {
  TransformerConfig& config = model.config;
  require(classes >= 2, "classifier: {} classes; expected two or more", classes);
  require(config.causal && config.vocab > 0, "classifier: expected a causal model of tokens");
  config.tied = config.readout_bias = false;
  config.readout_width = 0;
  config.output_dim = classes;
  config.pooling = Pooling::last;
  std::erase_if(model.weights, [](const auto& weight) { return weight.first.starts_with("readout."); });
  model.weights.emplace_back("readout.weight", engine::random_normal({classes, config.width}, rng, "init", 0,
                                                                     head_std));  // (classes, D)
  return model;
}

}  // namespace headroom::models
