#pragma once
#include <cstdint>

#include "models/config.h"

namespace headroom::tasks {

/// Bytes per number in a training or an inference.
struct NumberWidths {
  int64_t weight = 4, gradient = 4, activation = 4, cache = 4;
  int64_t master = 0;  ///< an extra f32 copy of narrower weights
};

/// f32: 4 bytes for everything. bf16 and f16: 2 for weights, gradients, activations and cache, plus an f32 master copy.
NumberWidths widths_of(int64_t bytes);

/// A Transformer's costs, by count: matrix products, and tensors that must be held. Sequences of `context` tokens.
struct ModelCosts {
  int64_t parameters = 0;
  double forward_flops = 0;   ///< per token; a multiply-add counts 2; attention over all `context` keys, causal or not
  double backward_flops = 0;  ///< twice the forward's: one gradient for weights, one for inputs
  double kv_bytes = 0;        ///< keys and values per token, all layers
  /// Held for backward by one batch: input and output of each norm, Q, K, V, the attention's output, hidden layers, and
  /// the logits (f32). Assumes a fused attention that keeps one f32 sum per query, not its L × L weights.
  double activation_bytes = 0;
  double score_bytes = 0;      ///< the extra for an attention that keeps its L × L weights
  double recompute_bytes = 0;  ///< replaces activation_bytes if backward recomputes each block
  double weight_bytes = 0, gradient_bytes = 0;
  double optimizer_bytes = 0;  ///< AdamW: two f32 moments, and the master copy

  double train_bytes(bool recompute) const {
    return weight_bytes + gradient_bytes + optimizer_bytes + (recompute ? recompute_bytes : activation_bytes);
  }
};

/// Counts one model. Throws Error as models::validate() does, and unless batch and context are >= 1.
ModelCosts model_costs(const models::TransformerConfig& model, int64_t batch, int64_t context,
                       const NumberWidths& widths);

/// Matrix-product FLOPs of one encoder layer over a sequence of `length` L, counted as in the paper's efficiency
/// analysis (a multiply-add is 2): 4 L D H (d_qk + d_v) for Q, K, V and O, 2 H L² (d_qk + d_v) for scores and weighted
/// values, 4 L D F for a feed-forward network of two matrices. With d_qk = d_v = d_h: 8 L D H d_h + 4 H L² d_h + 4 L D
/// F, affine in d_h.
double layer_flops(int64_t length, int64_t width, int64_t heads, int64_t qk_dim, int64_t v_dim, int64_t ffn_width);

/// A machine's speeds: a roofline's two ceilings.
struct Ceilings {
  double flops = 0;      ///< matrix-product FLOP/s
  double bandwidth = 0;  ///< bytes/s of memory
};

/// The least seconds on a machine with these ceilings: each phase takes the larger of FLOPs/flops and bytes/bandwidth
/// (Williams et al., 2009), counting only indispensable bytes.
struct RooflineTimes {
  double prefill = 0;     ///< forward over batch × context tokens; weights read once, the cache written
  double decode = 0;      ///< the next token of every sequence of the batch; weights and whole cache read
  double train_step = 0;  ///< forward and backward, weights read twice, AdamW's state and gradients read and written
  double train_step_recompute = 0;  ///< with one more forward pass
};

RooflineTimes roofline(const ModelCosts& costs, int64_t batch, int64_t context, const Ceilings& machine);

}  // namespace headroom::tasks
