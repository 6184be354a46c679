#pragma once
#include "models/config.h"

namespace headroom::models {

/// Parameters of a config, in N: double before the config is known to be sane, int64_t after.
template <class N>
N count_parameters(const TransformerConfig& c) {
  const auto linear = [](N in, N out, bool bias) { return in * out + (bias ? out : N(0)); };
  const N width = N(c.width), ffn = N(c.ffn_width);
  const N norm = c.norm == Norm::none ? N(0) : c.norm == Norm::layer_norm ? 2 * width : width;

  N block = norm, values = 0;
  for (const HeadGroup& g : c.groups) {
    const N heads = N(g.heads), kv_heads = N(g.key_value_heads());
    block += linear(width, heads * N(g.qk_dim), c.attention_bias) +
             linear(width, kv_heads * N(g.qk_dim), c.attention_bias) +
             linear(width, kv_heads * N(g.v_dim), c.attention_bias);
    if (c.positions == Positions::alibi) block += heads;
    values += heads * N(g.v_dim);
  }
  block += linear(values, width, c.attention_bias);
  if (c.ffn_width > 0)
    block += norm + linear(width, ffn, c.ffn_bias) * (c.activation == Activation::swiglu ? 2 : 1) +
             linear(ffn, width, c.ffn_bias);

  N total = N(c.layers) * block;
  total += c.vocab > 0 ? N(c.vocab) * width : linear(N(c.input_dim), width, true);
  if (c.positions == Positions::learned) total += N(c.max_length) * width;
  if (c.final_norm && c.norm_place == NormPlace::pre) total += norm;
  const N hidden = N(c.readout_width);
  if (c.readout_width > 0) total += linear(width, hidden, true);
  if (!c.tied) total += linear(c.readout_width > 0 ? hidden : width, N(c.output_dim), true);
  return total;
}

}  // namespace headroom::models
