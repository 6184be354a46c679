#pragma once
#include "models/positions.h"

namespace headroom::models {

/// The parameter count of a config, in N: double before the config is checked, int64_t after.
template <class N>
N count_parameters(const TransformerConfig& c) {
  const auto linear = [](N in, N out, bool bias, int64_t rank = 0) {
    return (rank > 0 ? N(rank) * (in + out) : in * out) + (bias ? out : N(0));
  };
  const N width = N(c.width);
  // Queries or keys: factors shared by all heads, or one pair per head.
  const auto heads_of = [&](N heads, N dim, bool bias, int64_t rank, int64_t head_rank) {
    if (head_rank == 0) return linear(width, heads * dim, bias, rank);
    return heads * linear(width, dim, bias, head_rank);
  };
  const N norm = c.norm == Norm::none ? N(0) : c.norm == Norm::layer_norm ? 2 * width : width;
  const AttentionBiases bias = attention_biases(c);

  const PositionScheme& positions = scheme_of(c);
  N total = 0;
  for_each_layer(c, [&](const LayerConfig& layer, int64_t times) {
    const N norms = c.norm_place == NormPlace::both ? 2 * norm : norm;  // of one branch
    N block = 0, values = 0;
    for (const HeadGroup& g : layer.groups) {
      const N heads = N(g.heads), kv_heads = N(g.key_value_heads());
      block += heads_of(heads, N(g.qk_dim), bias.q, g.q_rank, g.q_head_rank) +
               heads_of(N(g.projected_keys()), N(g.qk_dim), bias.k, g.k_rank, g.k_head_rank) +
               linear(width, kv_heads * N(g.v_dim), bias.v, g.v_rank);
      block += (heads + N(g.projected_keys())) * N(g.score_dim) * N(g.qk_dim);
      if (positions.biases_scores()) block += heads;
      if (c.qk_norm) block += 2 * N(g.qk_dim);
      values += heads * N(g.v_dim);
    }
    if (!layer.groups.empty()) block += norms + linear(values, width, bias.o, layer.o_rank);
    const N ffn = N(layer.ffn_width);
    if (layer.ffn_width > 0)
      block +=
          norms + linear(width, ffn, c.ffn_bias) * (is_gated(c.activation) ? 2 : 1) + linear(ffn, width, c.ffn_bias);
    total += N(times) * block;
  });
  total += c.vocab > 0 ? N(c.vocab) * width : linear(N(c.input_dim), width, true);
  if (positions.is_learned()) total += N(c.max_length) * width;
  if (c.final_norm && c.norm_place != NormPlace::post) total += norm;
  const N hidden = N(c.readout_width);
  if (c.readout_width > 0) total += linear(width, hidden, true);
  if (!c.tied) total += linear(c.readout_width > 0 ? hidden : width, N(c.output_dim), c.readout_bias);
  return total;
}

}  // namespace headroom::models
