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

/// What a forward pass needs besides its input.
struct ForwardContext {
  bool training = false;                         ///< dropout on
  engine::Rng* rng = nullptr;                    ///< source of dropout keys; needed when training with dropout > 0
  Tensor key_mask{};                             ///< bool (B, T), true = may be attended; undefined = all
  int64_t offset = 0;                            ///< the first token's position
  int64_t length = 0;                            ///< of the text, where the input does not reach its end
  std::vector<Tensor>* probabilities = nullptr;  ///< gets attention's (B, H, T, T) of each layer and group of heads
  AttentionObserver observer{};                  ///< called for each layer and group of heads
  /// forward() puts here the residual stream after each layer, (B, T, D), and last the final norm's output (without one
  /// the last layer's again), with their place in the graph.
  std::vector<Var>* states = nullptr;
  /// Keys and values as a cache of these types has them (rounded_keys()).
  CacheTypes rounded_cache{};
  /// layer() only: whose rows the hidden states are (sequence_keys()).
  const SequenceTokens* sequences = nullptr;
};

/// Input (embedding or Projection) + positions → blocks → final norm → readout. Threads: see Module; each thread brings
/// a ForwardContext, a random source and a ModelCache of its own.
class Transformer : public Module {
 public:
  /// With the weights of a source. Throws Error when the config is invalid or the source has not what it needs.
  Transformer(const TransformerConfig& config, WeightSource& source);
  /// Parameters f32 or f64, drawn from rng's stream "init". Throws Error when the config is invalid.
  Transformer(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype = engine::DType::f32);
  ~Transformer() override;

  /// tokens i64 (B, T) or real (B, T, input_dim) of the dtype that the parameters were made with → (B, T, output_dim),
  /// or (B, output_dim) with pooling, in the dtype that they have: bf16 while a training in bf16 has bound them to
  /// copies.
  Var forward(const Tensor& input, const ForwardContext& context = {}) const;
  /// Generation: `input` continues what the state has seen, and the state sees it too. The result is forward()'s for
  /// the same tokens behind those that the state holds, without a gradient, and the earlier tokens are not computed
  /// again; layers with a window forget what it hides, where the state rolls. key_mask is bool (B, tokens held + T).
  /// Throws Error when the model is not causal or pools, or when the state is another model's or another batch's; the
  /// state then is as it was. `last` > 0: of only that many last positions, (B, last, output_dim).
  Tensor decode(const Tensor& input, ModelCache& state, const Tensor& key_mask = {}, int64_t last = 0) const;
  /// decode() of several sequences at once: tokens i64 (1, T) are those of one sequence after the other, as `rows`
  /// says, each with a state of its own → (1, T, output_dim). Every product takes the rows of all sequences, so that
  /// weights are read once; attention is that of each sequence alone. A row's bits are decode()'s where products of few
  /// rows add in the same order whatever their number: those with stored blocks or 16-bit numbers, up to 8 rows. Throws
  /// Error as decode(), and when two sequences have one state; all states then are as they were.
  Tensor decode_together(const Tensor& tokens, const std::vector<SequenceRows>& rows) const;
  /// decode() of the one token that `token` names with its place (engine/decoding/token_state.h, on the model's
  /// device), so that nothing is read from the host and the work can be recorded: (1, 1, output_dim). The state must
  /// have room for the token (ModelCache::make_room()) and does not count it: whoever replays the work does, by
  /// advance(), after asking require_place(). The bits are decode()'s where that attends by few queries, as CUDA does.
  Tensor decode_at(const Tensor& token, ModelCache& state) const;
  /// Throws Error when a sequence of `end` tokens has more than there are positions.
  void require_place(int64_t end) const;

  /// The stages of forward(), for those who run a model layer by layer: embed(), then layer() for each, then
  /// readout(). Without dropout and pooling.
  /// tokens i64 (B, T), the first at position `offset` → (B, T, D)
  Var embed(const Tensor& input, int64_t offset = 0) const;
  /// The same of several sequences, each at its own positions: (1, T) → (1, T, D)
  Var embed(const Tensor& input, const SequenceTokens& sequences) const;
  /// (B, T, D) → (B, T, D)
  Var layer(size_t index, const Var& h, const ForwardContext& context = {}) const;
  /// The final norm and the readout: (…, D) → (…, output_dim)
  Var readout(const Var& h) const;
  /// The attention of one layer, for callers that look at its weights. Throws Error when there is no such layer.
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
