#include "models/transformer.h"

#include <limits>
#include <set>

#include "autograd/ops.h"
#include "engine/context.h"
#include "engine/decoding/token_state.h"
#include "engine/dispatch/operand.h"
#include "engine/error.h"
#include "engine/ops/clamp/clamp.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/sum/sum.h"
#include "engine/sequences/last_kept.h"
#include "models/block.h"
#include "models/embedding.h"
#include "models/model_cache.h"
#include "models/positions.h"
#include "models/validate.h"
#include "models/weights/projection.h"
#include "models/weights/sources.h"

namespace headroom::models {
namespace {

/// The last position that key_mask (B, T) keeps of each sequence of h (B, T, D), or simply the last when undefined →
/// (B, D). Throws Error for a sequence of which it keeps none; on a GPU, which is not waited for, its row is NaN.
Var last_position(const Var& h, const Tensor& key_mask) {
  const int64_t batch = h.dim(0), length = h.dim(1);
  require(length > 0, "transformer: the last of no positions");
  if (!key_mask.defined()) return autograd::reshape(autograd::slice(h, 1, length - 1, length), {batch, h.dim(2)});
  const Tensor rows = engine::last_kept(key_mask);  // (B)
  for (int64_t b = 0; b < batch && rows.device().is_cpu(); ++b)
    require(rows.data<int64_t>()[b] >= 0,
            "transformer: the key mask keeps no position of sequence {}, so it has no last one", b);
  return autograd::embedding(autograd::reshape(h, {batch * length, h.dim(2)}), rows);
}

/// Mean over the positions of h (B, T, D) that key_mask (B, T) keeps (all when undefined) → (B, D); 0 where it keeps
/// none.
Var pool(const Var& h, const Tensor& key_mask) {
  if (!key_mask.defined()) return autograd::mean(h, {1});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const engine::DType dtype = h.value().dtype();
  const Tensor kept = key_mask.to(engine::statistic_dtype(dtype));                                    // (B, T)
  const Tensor shares = engine::div(kept, engine::clamp(engine::sum(kept, {1}, true), 1, infinity));  // (B, T)
  const Var weights(shares.to(dtype).reshape({h.dim(0), h.dim(1), 1}));                               // (B, T, 1)
  return autograd::sum(h * weights, {1});                                                             // (B, D)
}

/// The keys of a pass without a cache.
KeysAndValues keys_of(const ForwardContext& context) {
  KeysAndValues keys = context.sequences
                           ? sequence_keys(*context.sequences)
                           : own_keys({context.key_mask, context.offset, context.length}, context.probabilities);
  if (context.rounded_cache.all || context.rounded_cache.named) keys = rounded_keys(context.rounded_cache, keys);
  return context.observer ? observed_keys(context.observer, keys) : keys;
}

/// Takes a block's dropout keys from the stream "dropout": before the block runs, so that it can run twice.
BlockContext block_context(const TransformerConfig& config, const LayerConfig& layer, const ForwardContext& context,
                           const KeysAndValues& keys, int64_t batch, int64_t length) {
  BlockContext block{.attention = {.keys = keys}};
  if (!context.training || config.dropout == 0) return block;
  block.dropout = block.attention.dropout = config.dropout;
  for (const HeadGroup& group : layer.groups)
    block.attention.dropout_keys.push_back(context.rng->take("dropout", batch * group.heads * length * length));
  block.attention_branch = context.rng->take("dropout", batch * length * config.width);
  if (layer.ffn_width > 0) block.ffn_branch = context.rng->take("dropout", batch * length * config.width);
  return block;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config, WeightSource& source)
    : config_(config), dtype_(source.dtype()), rope_(config.rope_interleaved, source.dtype()) {
  validate(config);
  const WeightScope scope(source);
  const auto project = [&](const char* name, int64_t in, int64_t out, bool bias) {
    return make_child<Projection>(scope, name, ProjectionShape{.in = in, .out = out, .bias = bias});
  };
  if (config.vocab > 0) {
    tokens_ = make_child<Embedding>(scope, "tokens", config.vocab, config.width, config.init.embedding_std);
  } else {
    input_ = project("input", config.input_dim, config.width, true);
  }
  const PositionScheme& scheme = scheme_of(config);
  if (scheme.is_learned()) {
    const Shape shape{config.max_length, config.width};
    const double std = config.init.position_std;
    positions_ = add_parameter(
        "positions", scope.tensor("positions", shape, [=](const Initializer& i) { return i.normal(shape, std); }),
        false);
  }
  if (scheme.table)
    positions_ = Var(scheme.table(config.max_length, config.width, dtype_).to(engine::context().device));
  layers_ = layers_of(config);
  for (size_t i = 0; i < layers_.size(); ++i)
    blocks_.push_back(make_child<Block>(scope, fmt::format("blocks.{}", i), config, layers_[i], i, rope_));
  if (config.final_norm && config.norm_place != NormPlace::post)
    final_norm_ = make_child<NormLayer>(scope, "final_norm", config.norm, config.width, config.norm_eps);
  if (!config.tied) {
    if (config.readout_width > 0) hidden_ = project("hidden", config.width, config.readout_width, true);
    const int64_t in = config.readout_width > 0 ? config.readout_width : config.width;
    readout_ = project("readout", in, config.output_dim, config.readout_bias);
  }
  source.finish();
}

Transformer::Transformer(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype)
    : Transformer(config, DrawnWeights(config, rng, dtype)) {}

Transformer::~Transformer() = default;

Var Transformer::embedded(const Tensor& tokens) const {
  const Var h = tokens_->forward(tokens);
  return config_.embedding_scale == 1 ? h : config_.embedding_scale * h;
}

Var Transformer::embed(const Tensor& given, int64_t offset) const {
  const Tensor input = given.defined() ? given.to(device()) : given;
  if (tokens_) {
    require(input.rank() == 2 && input.dtype() == engine::DType::i64, "transformer: tokens must be i64 (B, T), got {}",
            input);
  } else {
    require(input.rank() == 3 && input.dtype() == dtype_ && input.dim(2) == config_.input_dim,
            "transformer: input must be {} (B, T, {}), got {}", engine::name_of(dtype_), config_.input_dim, input);
  }
  const int64_t length = input.dim(1);
  // A training in bf16 binds the weights to bf16 copies (ParameterArena); inputs that are not weights follow.
  const auto projected = [&] { return input_->forward(autograd::cast(Var(input), input_->bias().value().dtype())); };
  const Var h = tokens_ ? embedded(input) : projected();  // (B, T, D)
  if (!positions_.defined()) return h;
  const int64_t end = offset + length;
  require_place(end);
  const Var positions = length == config_.max_length ? positions_ : autograd::slice(positions_, 0, offset, end);
  return h + autograd::cast(positions, h.value().dtype());
}

Var Transformer::embed(const Tensor& input, const SequenceTokens& sequences) const {
  std::vector<Var> parts;
  for (size_t i = 0; i < sequences.rows.size(); ++i)
    parts.push_back(embed(input.slice(1, sequences.rows[i].begin, sequences.rows[i].end), sequences.first[i]));
  return autograd::concat(parts, 1);  // (1, T, D)
}

void Transformer::require_place(int64_t end) const {
  require(!positions_.defined() || end <= config_.max_length,
          "transformer: sequences of {} are longer than max_length, which is {}", end, config_.max_length);
}

Var Transformer::forward(const Tensor& input, const ForwardContext& context) const {
  return run(input, context, nullptr, 0);
}

Var Transformer::layer(size_t index, const Var& h, const ForwardContext& context) const {
  require(index < blocks_.size(), "transformer: layer {} of {}", index, blocks_.size());
  require(!context.training, "transformer: single layers do not train");
  return blocks_[index]->forward(h, {.attention = {.keys = keys_of(context)}});
}

const Attention& Transformer::attention(size_t layer) const {
  require(layer < blocks_.size(), "transformer: layer {} of {}", layer, blocks_.size());
  const Attention* attention = blocks_[layer]->attention();
  require(attention != nullptr, "transformer: layer {} has no attention", layer);
  return *attention;
}

Var Transformer::readout(const Var& h_in) const { return outputs(final_norm_ ? final_norm_->forward(h_in) : h_in); }

Var Transformer::outputs(Var h) const {
  if (hidden_) h = autograd::gelu(hidden_->forward(h));  // (…, readout_width)
  return readout_ ? readout_->forward(h, true) : tokens_->as_readout(h);
}

void Transformer::require_decodable(ModelCache& state) const {
  require(config_.causal && config_.pooling == Pooling::none,
          "transformer: only a causal model without pooling decodes");
  bool fits = state.layers() == layers_.size();
  for (size_t i = 0; fits && i < layers_.size(); ++i) fits = state.layer(i).size() == layers_[i].groups.size();
  require(fits, "transformer: the decode state was made for another config");
}

Tensor Transformer::decode_at(const Tensor& token, ModelCache& state) const {
  require_decodable(state);
  require(tokens_ != nullptr, "transformer: only a model of tokens decodes one by its id");
  require(state.capacity() > state.length(), "transformer: the decode state has no room for a token");
  require_place(state.offset() + 1);
  const autograd::NoGrad no_grad;
  const TokenPlace place{engine::position_of(token), engine::length_of(token)};
  Var h = embedded(engine::token_of(token));  // (1, 1, D)
  if (positions_.defined()) h = h + autograd::embedding(positions_, place.position);
  return readout(through_blocks(h, {}, recorded_keys(state, place))).value();
}

Tensor Transformer::decode(const Tensor& input, ModelCache& state, const Tensor& key_mask, int64_t last) const {
  require_decodable(state);
  const autograd::NoGrad no_grad;
  const int64_t offset = state.offset();
  try {
    return run(input, {.key_mask = key_mask, .offset = offset, .length = state.text_length()}, &state, last).value();
  } catch (...) {
    state.truncate(offset);
    throw;
  }
}

Tensor Transformer::decode_together(const Tensor& tokens, const std::vector<SequenceRows>& rows) const {
  std::set<const ModelCache*> states;
  for (const SequenceRows& own : rows) {
    require(own.state && states.insert(own.state).second, "transformer: each sequence needs a state of its own");
    require_decodable(*own.state);
  }
  require(!rows.empty() && tokens.rank() >= 2 && tokens.dim(0) == 1 && tokens.dim(1) == rows.back().end,
          "transformer: the tokens of the sequences must be (1, T), one sequence's after the other's, got {}", tokens);
  const autograd::NoGrad no_grad;
  const SequenceTokens sequences(rows, device());
  try {
    const Var h = embed(tokens, sequences);  // (1, T, D)
    for (const SequenceRows& own : rows) own.state->forget_hidden();
    return readout(through_blocks(h, {}, sequence_keys(sequences))).value();
  } catch (...) {
    for (size_t i = 0; i < rows.size(); ++i) rows[i].state->truncate(sequences.first[i]);
    throw;
  }
}

Var Transformer::run(const Tensor& input, const ForwardContext& given, ModelCache* state, int64_t last) const {
  ForwardContext context = given;
  if (context.key_mask.defined()) context.key_mask = context.key_mask.to(device());
  require(!context.training || config_.dropout == 0 || context.rng,
          "transformer: training with dropout {} needs ForwardContext::rng", config_.dropout);
  require(!context.training || !context.probabilities, "transformer: probabilities are not given while training");
  require(context.offset >= 0, "transformer: offset {} is no position", context.offset);
  Var h = embed(input, context.offset);  // (B, T, D)
  const int64_t batch = h.dim(0), length = h.dim(1);
  const int64_t keys = (state ? state->length() : 0) + length;
  require(last >= 0 && last <= length, "transformer: the last {} of {} positions", last, length);
  if (context.key_mask.defined())
    require(context.key_mask.dtype() == engine::DType::boolean && context.key_mask.shape() == Shape{batch, keys},
            "transformer: key_mask must be bool ({}, {}), got {}", batch, keys, context.key_mask);
  if (state) state->forget_hidden();
  h = through_blocks(
      h, context, state ? cached_keys(*state, {context.key_mask, context.offset, context.length}) : keys_of(context));
  if (last > 0) h = autograd::slice(h, 1, length - last, length);                // (B, last, D)
  if (config_.pooling == Pooling::last) h = last_position(h, context.key_mask);  // (B, D)
  if (final_norm_) h = final_norm_->forward(h);
  if (context.states) context.states->push_back(h);
  if (config_.pooling == Pooling::mean) h = pool(h, context.key_mask);  // (B, D)
  return outputs(h);
}

Var Transformer::through_blocks(Var h, const ForwardContext& context, const KeysAndValues& keys) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const BlockContext own = block_context(config_, layers_[i], context, keys, h.dim(0), h.dim(1));
    const Block* layer = blocks_[i].get();
    h = config_.checkpoint_blocks && engine::context().records
            ? autograd::checkpoint([layer, own](const std::vector<Var>& in) { return layer->forward(in[0], own); }, {h})
            : layer->forward(h, own);
    if (context.states) context.states->push_back(h);
  }
  return h;
}

std::string Transformer::describe() const {
  const std::string input = tokens_ ? tokens_->describe() : input_->describe();
  const std::string hidden = hidden_ ? hidden_->describe() + ", gelu, " : "";
  const std::string readout = readout_ ? hidden + readout_->describe() : "tied readout";
  std::string blocks;  // "2 x [block: …], 1 x [block: …]": a run of equal layers each
  for (size_t begin = 0, end = 0; begin < blocks_.size(); begin = end) {
    const std::string text = blocks_[begin]->describe();
    for (end = begin + 1; end < blocks_.size() && blocks_[end]->describe() == text;) ++end;
    blocks += fmt::format("{}{} x [{}]", begin > 0 ? ", " : "", end - begin, text);
  }
  const char* pooling = config_.pooling == Pooling::mean   ? ", mean over positions"
                        : config_.pooling == Pooling::last ? ", last position"
                                                           : "";
  return fmt::format("transformer: {}, {} positions, {}{}{}, {}; {} parameters", input, name_of(config_.positions),
                     config_.causal ? "causal, " : "", blocks, pooling, readout, parameter_count());
}

}  // namespace headroom::models
