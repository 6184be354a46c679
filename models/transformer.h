#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "models/config.h"
#include "models/module.h"

namespace headroom::models {

class Block;
class Embedding;
class Linear;
class NormLayer;

/// What a forward pass needs beside its input.
struct ForwardContext {
  bool training = false;                         ///< dropout on
  engine::Rng* rng = nullptr;                    ///< source of dropout keys; needed when training with dropout > 0
  Tensor key_mask{};                             ///< bool (B, T), true = may be attended; undefined = all
  std::vector<Tensor>* probabilities = nullptr;  ///< gets attention's (B, H, T, T) of each layer and group of heads
};

/// Input (embedding or Linear) + positions → blocks → final norm → readout.
class Transformer : public Module {
 public:
  /// Parameters f32 or f64, drawn from rng's stream "init". Throws Error when the config is invalid.
  Transformer(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype = engine::DType::f32);
  ~Transformer() override;

  /// tokens i64 (B, T) or real (B, T, input_dim) of the parameters' dtype → (B, T, output_dim), or (B, output_dim) with
  /// mean pooling.
  Var forward(const Tensor& input, const ForwardContext& context = {}) const;
  const TransformerConfig& config() const { return config_; }
  std::string describe() const override;

 private:
  Var embed(const Tensor& input) const;

  TransformerConfig config_;
  engine::DType dtype_;
  std::unique_ptr<Embedding> tokens_;
  std::unique_ptr<Linear> input_;
  Var positions_;  ///< (max_length, D), learned or constant
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<NormLayer> final_norm_;
  std::unique_ptr<Linear> hidden_;  ///< with readout_width
  std::unique_ptr<Linear> readout_;
};

/// Parameters of a config, without building it.
int64_t parameter_count(const TransformerConfig& config);
/// Multiply-adds count 2. Products only (no softmax, norms), of one forward pass over `batch` sequences of `length`;
/// with `causal` still the full L² products, as the paper's efficiency analysis counts.
double forward_flops(const TransformerConfig& config, int64_t batch, int64_t length);

}  // namespace headroom::models
