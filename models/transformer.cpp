#include "models/transformer.h"

#include "autograd/ops.h"
#include "models/block.h"
#include "models/embedding.h"
#include "models/positions.h"

namespace headroom::models {
namespace {

/// Mean over the positions of h (B, T, D) that key_mask (B, T) keeps (all when undefined) → (B, D); 0 where it keeps
/// none.
Var pool(const Var& h, const Tensor& key_mask) {
  if (!key_mask.defined()) return autograd::mean(h, {1});
  const int64_t batch = h.dim(0), length = h.dim(1);
  const std::vector<uint8_t> kept = key_mask.to_vector<uint8_t>();
  std::vector<double> shares(kept.size(), 0.0);
  for (int64_t b = 0; b < batch; ++b) {
    const auto row = static_cast<size_t>(b * length), end = static_cast<size_t>((b + 1) * length);
    double count = 0;
    for (size_t i = row; i < end; ++i) count += kept[i] ? 1 : 0;
    for (size_t i = row; i < end; ++i) shares[i] = kept[i] ? 1 / count : 0;
  }
  const Var weights(Tensor::from({batch, length, 1}, shares).to(h.value().dtype()));  // (B, T, 1)
  return autograd::sum(h * weights, {1});                                             // (B, D)
}

/// Takes a block's dropout keys from the stream "dropout": before the block runs, so that it can run twice.
BlockContext block_context(const TransformerConfig& config, const ForwardContext& context, int64_t batch,
                           int64_t length, const Tensor& positions) {
  BlockContext block{.attention = {.key_mask = context.key_mask, .positions = positions}};
  block.attention.probabilities = context.probabilities;
  if (!context.training || config.dropout == 0) return block;
  block.dropout = block.attention.dropout = config.dropout;
  for (const HeadGroup& group : config.groups)
    block.attention.dropout_keys.push_back(context.rng->take("dropout", batch * group.heads * length * length));
  block.attention_branch = context.rng->take("dropout", batch * length * config.width);
  if (config.ffn_width > 0) block.ffn_branch = context.rng->take("dropout", batch * length * config.width);
  return block;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype)
    : config_(config), dtype_(dtype) {
  validate(config);
  require(dtype == engine::DType::f32 || dtype == engine::DType::f64,
          "transformer: parameters must be f32 or f64, not {}", engine::name_of(dtype));
  const Initializer init(config, rng, dtype);
  if (config.vocab > 0) {
    tokens_ = std::make_unique<Embedding>(config.vocab, config.width, init);
    add_child("tokens", *tokens_);
  } else {
    input_ = std::make_unique<Linear>(config.input_dim, config.width, true, init);
    add_child("input", *input_);
  }
  if (config.positions == Positions::learned)
    positions_ =
        add_parameter("positions", init.normal({config.max_length, config.width}, config.init.position_std), false);
  if (config.positions == Positions::sinusoidal) positions_ = Var(sinusoids(config.max_length, config.width, dtype));
  for (int64_t i = 0; i < config.layers; ++i) {
    blocks_.push_back(std::make_unique<Block>(config, init));
    add_child(fmt::format("blocks.{}", i), *blocks_.back());
  }
  if (config.final_norm && config.norm_place == NormPlace::pre) {
    final_norm_ = std::make_unique<NormLayer>(config.norm, config.width, config.norm_eps, init);
    add_child("final_norm", *final_norm_);
  }
  if (config.tied) return;
  if (config.readout_width > 0) {
    hidden_ = std::make_unique<Linear>(config.width, config.readout_width, true, init);
    add_child("hidden", *hidden_);
  }
  readout_ = std::make_unique<Linear>(config.readout_width > 0 ? config.readout_width : config.width, config.output_dim,
                                      true, init);
  add_child("readout", *readout_);
}

Transformer::~Transformer() = default;

Var Transformer::embed(const Tensor& input) const {
  if (tokens_) {
    require(input.rank() == 2 && input.dtype() == engine::DType::i64, "transformer: tokens must be i64 (B, T), got {}",
            input.str());
  } else {
    require(input.rank() == 3 && input.dtype() == dtype_ && input.dim(2) == config_.input_dim,
            "transformer: input must be {} (B, T, {}), got {}", engine::name_of(dtype_), config_.input_dim,
            input.str());
  }
  const int64_t length = input.dim(1);
  Var h = tokens_ ? tokens_->forward(input) : input_->forward(Var(input));  // (B, T, D)
  if (!positions_.defined()) return h;
  require(length <= config_.max_length, "transformer: sequences of {} are longer than max_length, which is {}", length,
          config_.max_length);
  return h + (length == config_.max_length ? positions_ : autograd::slice(positions_, 0, 0, length));
}

Var Transformer::forward(const Tensor& input, const ForwardContext& context) const {
  require(!context.training || config_.dropout == 0 || context.rng,
          "transformer: training with dropout {} needs ForwardContext::rng", config_.dropout);
  require(!context.training || !context.probabilities, "transformer: probabilities are not given while training");
  Var h = embed(input);  // (B, T, D)
  const int64_t batch = h.dim(0), length = h.dim(1);
  if (context.key_mask.defined())
    require(context.key_mask.dtype() == engine::DType::boolean && context.key_mask.shape() == Shape{batch, length},
            "transformer: key_mask must be bool ({}, {}), got {}", batch, length, context.key_mask.str());
  const Tensor positions = config_.positions == Positions::rope ? position_indices(length) : Tensor();  // (T)
  for (const auto& block : blocks_) {
    const BlockContext own = block_context(config_, context, batch, length, positions);
    const Block* layer = block.get();
    h = config_.checkpoint_blocks
            ? autograd::checkpoint([layer, own](const std::vector<Var>& in) { return layer->forward(in[0], own); }, {h})
            : layer->forward(h, own);
  }
  if (final_norm_) h = final_norm_->forward(h);
  if (config_.pooling == Pooling::mean) h = pool(h, context.key_mask);  // (B, D)
  if (hidden_) h = autograd::gelu(hidden_->forward(h));                 // (B, T, readout_width)
  return readout_ ? readout_->forward(h) : autograd::linear(h, tokens_->table());
}

std::string Transformer::describe() const {
  const std::string input = tokens_ ? tokens_->describe() : input_->describe();
  const std::string hidden = hidden_ ? hidden_->describe() + ", gelu, " : "";
  const std::string readout = readout_ ? hidden + readout_->describe() : "tied readout";
  return fmt::format("transformer: {}, {} positions, {}{} x [{}]{}, {}; {} parameters", input,
                     name_of(config_.positions), config_.causal ? "causal, " : "", config_.layers,
                     blocks_[0]->describe(), config_.pooling == Pooling::mean ? ", mean over positions" : "", readout,
                     parameter_count());
}

}  // namespace headroom::models
