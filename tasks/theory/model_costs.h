#pragma once
#include <cstdint>

#include "models/config.h"

namespace headroom::tasks {

/// Bytes of the numbers that a training or an inference holds.
struct NumberWidths {
  int64_t weight = 4, gradient = 4, activation = 4, cache = 4;
  int64_t master = 0;  ///< a second, f32 copy of the weights, for narrower ones
};

/// f32: everything in 4 bytes. bf16 and f16: weights, gradients, activations and cache in 2, an f32 master copy.
NumberWidths widths_of(int64_t bytes);

/// What a Transformer costs, by count: matrix products, and tensors that must be held. Sequences of `context` tokens.
struct ModelCosts {
  int64_t parameters = 0;
  double forward_flops = 0;   ///< per token; a multiply-add counts 2; attention over all `context` keys, causal or not
  double backward_flops = 0;  ///< twice the forward's: a gradient each for weights and inputs
  double kv_bytes = 0;        ///< keys and values of one token, all layers
  /// Held for backward by one batch: input and output of each norm, Q, K, V, the attention's output, hidden layers, and
  /// the logits (f32). A fused attention that keeps one f32 sum per query, not its L × L weights.
  double activation_bytes = 0;
  double score_bytes = 0;      ///< what an attention that keeps its L × L weights holds in addition
  double recompute_bytes = 0;  ///< in place of activation_bytes where each block is computed again in backward
  double weight_bytes = 0, gradient_bytes = 0;
  double optimizer_bytes = 0;  ///< AdamW: two f32 moments, and the master copy

  double train_bytes(bool recompute) const {
    return weight_bytes + gradient_bytes + optimizer_bytes + (recompute ? recompute_bytes : activation_bytes);
  }
};

/// Counts one model. Throws Error as models::validate() does, and unless batch and context are >= 1.
ModelCosts model_costs(const models::TransformerConfig& model, int64_t batch, int64_t context,
                       const NumberWidths& widths);

/// A machine's speeds: the two ceilings of a roofline.
struct Ceilings {
  double flops = 0;      ///< matrix-product FLOP/s
  double bandwidth = 0;  ///< bytes/s of memory
};

/// Least seconds that a machine with these ceilings needs: each phase takes the larger of FLOPs/flops and
/// bytes/bandwidth (Williams et al., 2009), with the bytes that it cannot do without.
struct RooflineTimes {
  double prefill = 0;     ///< forward over batch × context tokens; weights read once, the cache written
  double decode = 0;      ///< the next token of every sequence of the batch; weights and whole cache read
  double train_step = 0;  ///< forward and backward, weights read twice, AdamW's state and gradients read and written
  double train_step_recompute = 0;  ///< with one more forward pass
};

RooflineTimes roofline(const ModelCosts& costs, int64_t batch, int64_t context, const Ceilings& machine);

}  // namespace headroom::tasks
