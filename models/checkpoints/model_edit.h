#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// The result of compressing or training a model: it differs from a base in some weights and some layers' shapes.
struct ModelEdit {
  TransformerConfig config;  ///< of the edited model
  /// The changed weights, f32 or f64, under our Transformer's names ("blocks.2.attention.1.q_proj.weight_a").
  NamedTensors weights;
};

/// A base's weights, overridden by an edit's.
class EditedWeights : public WeightSource {
 public:
  /// `options` applies to the edit's weights. Throws Error naming a weight given twice.
  EditedWeights(std::unique_ptr<WeightSource> base, const NamedTensors& edit, const WeightOptions& options);
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return base_->dtype(); }
  /// Throws Error naming an edited weight that the model lacks. Ignores extra weights of the base.
  void finish() const override { edit_.finish(); }

 private:
  std::unique_ptr<WeightSource> base_;
  std::set<std::string> edited_;
  NamedWeights edit_;
};

/// Loads the edited model. Throws Error as ModelFiles::load(), and naming a weight that neither has, or that the edit
/// has in another shape.
std::unique_ptr<Transformer> load(const ModelFiles& base, const ModelEdit& edit, const LoadOptions& options = {});
/// The same for a base in memory, on its device, whose matrices are not quantised. Weights that are not trained share
/// the base's memory if their dtypes match.
std::unique_ptr<Transformer> load(const Transformer& base, const ModelEdit& edit,
                                  const WeightOptions& options = {.is_trained = none_trained});

/// Turns a causal language model and its edits into a classifier, like transformers' LlamaForSequenceClassification:
/// the last position that the key mask keeps goes through a new readout (classes, D) without bias, drawn from N(0,
/// 0.02²), transformers' initializer_range, with rng's stream "init". It replaces the language model's readout. Throws
/// Error for fewer than two classes, and for a model that is not causal or has no token input.
///
///     load(*files, classifier_of({files->description().config, {}}, 2, rng), options)
ModelEdit classifier_of(ModelEdit language_model, int64_t classes, engine::Rng& rng);

}  // namespace headroom::models
