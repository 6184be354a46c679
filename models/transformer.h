#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "models/attention.h"
#include "models/costs.h"
#include "models/rope_cache.h"
#include "models/weights/module.h"
#include "models/weights/source.h"

namespace headroom::models {

class Block;
class Embedding;
class NormLayer;
class Projection;

/// A forward pass's inputs besides x.
struct ForwardContext {
  bool training = false;                         ///< enables dropout
  engine::Rng* rng = nullptr;                    ///< source of dropout keys; needed when training with dropout > 0
  Tensor key_mask{};                             ///< bool (B, T), true = may be attended; undefined = all
  int64_t offset = 0;                            ///< the first token's position
  int64_t length = 0;                            ///< of the whole text, if the input stops short of its end
  std::vector<Tensor>* probabilities = nullptr;  ///< receives attention's (B, H, T, T) of each layer and group of heads
  AttentionObserver observer{};                  ///< called for each layer and group of heads
  /// Receives the residual stream after each layer, (B, T, D), then the final norm's output (without a norm, the last
  /// layer's again), all still in the graph.
  std::vector<Var>* states = nullptr;
  /// Keys and values as a cache of these types has them (rounded_keys()).
  CacheTypes rounded_cache{};
  /// layer() only: whose rows the hidden states are (sequence_keys()).
  const SequenceTokens* sequences = nullptr;
};

/// Input (embedding or Projection) + positions → blocks → final norm → readout. Threads: see Module; each thread needs
/// its own ForwardContext, random source and ModelCache.
class Transformer : public Module {
 public:
  /// Takes its weights from a source. Throws Error if the config is invalid or the source lacks a weight.
  Transformer(const TransformerConfig& config, WeightSource& source);
  /// Draws f32 or f64 parameters from rng's stream "init". Throws Error if the config is invalid.
  Transformer(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype = engine::DType::f32);
  ~Transformer() override;

  /// tokens i64 (B, T), or real (B, T, input_dim) of the dtype that the parameters were made with → (B, T, output_dim),
  /// or (B, output_dim) with pooling. The result has the parameters' current dtype: bf16 while bf16 training binds them
  /// to copies.
  Var forward(const Tensor& input, const ForwardContext& context = {}) const;
  /// Generation: `input` continues the state's tokens and is added to the state. Gives forward()'s result for these
  /// tokens after the earlier ones, without a gradient and without computing the earlier ones again. If the state
  /// rolls, layers with a window drop hidden tokens. key_mask is bool (B, tokens held + T). Throws Error, with the
  /// state unchanged, if the model is not causal or pools, or if the state belongs to another model or batch. `last` >
  /// 0: computes only that many last positions, (B, last, output_dim).
  Tensor decode(const Tensor& input, ModelCache& state, const Tensor& key_mask = {}, int64_t last = 0) const;
  /// decode() for several sequences at once: tokens i64 (1, T), sequence after sequence as in `rows`, each with its own
  /// state → (1, T, output_dim). Products take the rows of all sequences, so weights are read once; attention is per
  /// sequence. A row has decode()'s bits if products of few rows add in the same order for any number of rows: those
  /// with stored blocks or 16-bit numbers, up to 8 rows. Throws Error, with all states unchanged, as decode(), and if
  /// two sequences share a state.
  Tensor decode_together(const Tensor& tokens, const std::vector<SequenceRows>& rows) const;
  /// decode() of the single token and place in `token` (engine/decoding/token_state.h, on the model's device): reads
  /// nothing from the host, so it can be recorded. Returns (1, 1, output_dim). The state must have room
  /// (ModelCache::make_room()) and does not count the token: whoever replays calls require_place(), then advance(). Has
  /// decode()'s bits if that attends by few queries, as CUDA does.
  Tensor decode_at(const Tensor& token, ModelCache& state) const;
  /// Throws Error if a sequence of `end` tokens exceeds the available positions.
  void require_place(int64_t end) const;

  /// The stages of forward(), for running a model layer by layer: embed(), then each layer(), then readout(). Without
  /// dropout and pooling.
  /// tokens i64 (B, T), the first at position `offset` → (B, T, D)
  Var embed(const Tensor& input, int64_t offset = 0) const;
  /// The same for several sequences, each at its own positions: (1, T) → (1, T, D)
  Var embed(const Tensor& input, const SequenceTokens& sequences) const;
  /// (B, T, D) → (B, T, D)
  Var layer(size_t index, const Var& h, const ForwardContext& context = {}) const;
  /// The final norm and the readout: (…, D) → (…, output_dim)
  Var readout(const Var& h) const;
  /// The attention of one layer, for callers that need its weights. Throws Error if there is no such layer.
  const Attention& attention(size_t layer) const;
  const TransformerConfig& config() const { return config_; }
  std::string describe() const override;

 private:
  Transformer(const TransformerConfig& config, WeightSource&& source) : Transformer(config, source) {}
  Var embedded(const Tensor& tokens) const;  ///< i64 (B, T) → (B, T, D), without positions
  Var outputs(Var h) const;                  ///< the readout without the norm before it
  /// h (B, T, D) after the last block.
  Var through_blocks(Var h, const ForwardContext& context, const KeysAndValues& keys) const;
  Var run(const Tensor& input, const ForwardContext& context, ModelCache* state, int64_t last) const;
  void require_decodable(ModelCache& state) const;

  TransformerConfig config_;
  engine::DType dtype_;
  std::unique_ptr<Embedding> tokens_;
  std::unique_ptr<Projection> input_;
  Var positions_;  ///< (max_length, D), learned or constant
  RopeCache rope_;
  std::vector<LayerConfig> layers_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<NormLayer> final_norm_;
  std::unique_ptr<Projection> hidden_;  ///< with readout_width
  std::unique_ptr<Projection> readout_;
};

}  // namespace headroom::models
