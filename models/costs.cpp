#include "models/costs.h"

#include "engine/ops/packed_rows/packed_rows.h"
#include "models/count.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

/// Keys that a token is multiplied with, on average over layers: what lies beyond a window costs nothing.
double keys_at_once(const TransformerConfig& c, int64_t length) {
  if (c.window == 0 || length <= c.window) return static_cast<double>(length);
  const auto full = static_cast<double>(c.full_layers.size()), layers = static_cast<double>(c.layers);
  return (full * static_cast<double>(length) + (layers - full) * static_cast<double>(c.window)) / layers;
}

}  // namespace

int64_t parameter_count(const TransformerConfig& config) {
  validate(config);
  return count_parameters<int64_t>(config);
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
