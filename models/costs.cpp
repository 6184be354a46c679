#include "models/costs.h"

#include "engine/ops/packed_rows/packed_rows.h"
#include "models/positions.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

using Count = double;  ///< exact below 2^53: valid models have at most 1e12 parameters

/// Keys that a token is multiplied with, on average over layers: what lies beyond a window costs nothing.
double keys_at_once(const TransformerConfig& c, int64_t length) {
  if (c.window == 0 || length <= c.window) return static_cast<double>(length);
  const auto full = static_cast<double>(c.full_layers.size()), layers = static_cast<double>(c.layers);
  return (full * static_cast<double>(length) + (layers - full) * static_cast<double>(c.window)) / layers;
}

}  // namespace

double unchecked_parameter_count(const TransformerConfig& c) {
  const auto linear = [](Count in, Count out, bool bias, int64_t rank = 0) {
    return (rank > 0 ? Count(rank) * (in + out) : in * out) + (bias ? out : Count(0));
  };
  const Count width = Count(c.width);
  // Queries or keys: factors shared by all heads, or one pair per head.
  const auto heads_of = [&](Count heads, Count dim, bool bias, int64_t rank, int64_t head_rank) {
    if (head_rank == 0) return linear(width, heads * dim, bias, rank);
    return heads * linear(width, dim, bias, head_rank);
  };
  const Count norm = c.norm == Norm::none ? Count(0) : c.norm == Norm::layer_norm ? 2 * width : width;
  const AttentionBiases bias = attention_biases(c);

  const PositionScheme& positions = scheme_of(c);
  Count total = 0;
  for_each_layer(c, [&](const LayerConfig& layer, int64_t times) {
    const Count norms = c.norm_place == NormPlace::both ? 2 * norm : norm;  // of one branch
    Count block = 0, values = 0;
    for (const HeadGroup& g : layer.groups) {
      const Count heads = Count(g.heads), kv_heads = Count(g.key_value_heads());
      block += heads_of(heads, Count(g.qk_dim), bias.q, g.q_rank, g.q_head_rank) +
               heads_of(Count(g.projected_keys()), Count(g.qk_dim), bias.k, g.k_rank, g.k_head_rank) +
               linear(width, kv_heads * Count(g.v_dim), bias.v, g.v_rank);
      block += (heads + Count(g.projected_keys())) * Count(g.score_dim) * Count(g.qk_dim);
      if (positions.biases_scores()) block += heads;
      if (c.qk_norm) block += 2 * Count(g.qk_dim);
      values += heads * Count(g.v_dim);
    }
    if (!layer.groups.empty()) block += norms + linear(values, width, bias.o, layer.o_rank);
    const Count ffn = Count(layer.ffn_width);
    if (layer.ffn_width > 0)
      block +=
          norms + linear(width, ffn, c.ffn_bias) * (is_gated(c.activation) ? 2 : 1) + linear(ffn, width, c.ffn_bias);
    total += Count(times) * block;
  });
  total += c.vocab > 0 ? Count(c.vocab) * width : linear(Count(c.input_dim), width, true);
  if (positions.is_learned()) total += Count(c.max_length) * width;
  if (c.final_norm && c.norm_place != NormPlace::post) total += norm;
  const Count hidden = Count(c.readout_width);
  if (c.readout_width > 0) total += linear(width, hidden, true);
  if (!c.tied) total += linear(c.readout_width > 0 ? hidden : width, Count(c.output_dim), c.readout_bias);
  return total;
}

int64_t parameter_count(const TransformerConfig& config) {
  validate(config);
  return static_cast<int64_t>(unchecked_parameter_count(config));
}

double forward_flops(const TransformerConfig& c, int64_t batch, int64_t length) {
  validate(c);
  const double tokens = static_cast<double>(batch) * static_cast<double>(length), width = static_cast<double>(c.width);
  // Multiply-adds per token of a matrix or its two factors.
  const auto product = [](double in, double out, int64_t rank) {
    return rank > 0 ? static_cast<double>(rank) * (in + out) : in * out;
  };
  double blocks = 0;
  for_each_layer(c, [&](const LayerConfig& layer, int64_t times) {
    double block = 0, values = 0;
    for (const HeadGroup& g : layer.groups) {
      const auto heads = static_cast<double>(g.heads), kv_heads = static_cast<double>(g.key_value_heads());
      const auto keys = static_cast<double>(g.projected_keys());
      const auto qk = static_cast<double>(g.qk_dim), v = static_cast<double>(g.v_dim);
      const auto maps = [&](double count, int64_t rank, int64_t head_rank) {
        return head_rank > 0 ? count * product(width, qk, head_rank) : product(width, count * qk, rank);
      };
      block += maps(heads, g.q_rank, g.q_head_rank) + maps(keys, g.k_rank, g.k_head_rank) +
               product(width, kv_heads * v, g.v_rank);
      block += (heads + keys) * static_cast<double>(g.score_dim) * qk;
      block += keys_at_once(c, length) * heads * (static_cast<double>(g.key_dim()) + v);  // scores, weighted values
      values += heads * v;
    }
    block += product(values, width, layer.o_rank);
    block += width * static_cast<double>(layer.ffn_width) * (is_gated(c.activation) ? 3 : 2);
    blocks += static_cast<double>(times) * block;
  });
  const double readouts = c.pooling != Pooling::none ? static_cast<double>(batch) : tokens;
  const auto outputs = static_cast<double>(c.tied ? c.vocab : c.output_dim),
             hidden = static_cast<double>(c.readout_width);
  const double readout = c.readout_width > 0 ? hidden * (width + outputs) : width * outputs;
  return 2 * (tokens * (static_cast<double>(c.input_dim) * width + blocks) + readouts * readout);
}

int64_t cache_bytes(const TransformerConfig& config, const CacheTypes& types) {
  const auto row = [](std::optional<engine::BlockFormat> format, int64_t dim) {
    return format ? engine::packed_bytes(*format, dim) : 4 * dim;
  };
  int64_t bytes = 0;
  for_each_layer(config, [&](const LayerConfig& layer, int64_t times) {
    for (const HeadGroup& group : layer.groups)
      bytes += times * group.key_value_heads() *
               (row(types.keys(group), group.key_dim()) + row(types.values(group), group.v_dim));
  });
  return bytes;
}

}  // namespace headroom::models
