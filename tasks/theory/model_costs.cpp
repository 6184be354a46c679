#include "tasks/theory/model_costs.h"

#include <algorithm>

#include "engine/error.h"
#include "models/costs.h"

namespace headroom::tasks {
namespace {

using models::HeadGroup;
using models::LayerConfig;
using models::TransformerConfig;

constexpr double f32_bytes = 4;

/// Bytes that one block keeps per token, apart from attention weights.
double block_bytes(const TransformerConfig& c, const LayerConfig& layer, const NumberWidths& widths) {
  const auto width = static_cast<double>(c.width), ffn = static_cast<double>(layer.ffn_width);
  const int norms = c.norm == models::Norm::none ? 0 : (layer.groups.empty() ? 0 : 1) + (layer.ffn_width > 0 ? 1 : 0);
  double elements = (1 + norms) * width, sums = 0;  // the block's input, the norms' outputs
  for (const HeadGroup& g : layer.groups) {
    const auto heads = static_cast<double>(g.heads), shared = static_cast<double>(g.key_value_heads());
    const auto qk = static_cast<double>(g.qk_dim), v = static_cast<double>(g.v_dim);
    elements += heads * (qk + v) + static_cast<double>(g.projected_keys()) * qk + shared * v;  // Q, output, K, V
    elements += (heads + shared) * static_cast<double>(g.score_dim);
    sums += heads;
  }
  if (layer.ffn_width > 0) elements += width + ffn * (models::is_gated(c.activation) ? 3 : 2);
  return elements * static_cast<double>(widths.activation) + sums * f32_bytes;
}

/// Bytes per token after the last block: the final norm, the readout's hidden layer and the logits.
double head_bytes(const TransformerConfig& c, const NumberWidths& widths) {
  const double norm = c.final_norm && c.norm != models::Norm::none ? 2 * static_cast<double>(c.width) : 0;
  const double hidden = 2 * static_cast<double>(c.readout_width);
  const auto logits = static_cast<double>(c.tied ? c.vocab : c.output_dim);
  return (norm + hidden) * static_cast<double>(widths.activation) + logits * f32_bytes;
}

double larger(double flops, double bytes, const Ceilings& machine) {
  return std::max(flops / machine.flops, bytes / machine.bandwidth);
}

}  // namespace

NumberWidths widths_of(int64_t bytes) {
  require(bytes == 2 || bytes == 4, "widths: {} bytes per number: expected 2 or 4", bytes);
  return {bytes, bytes, bytes, bytes, bytes == 2 ? 4 : 0};
}

ModelCosts model_costs(const TransformerConfig& model, int64_t batch, int64_t context, const NumberWidths& widths) {
  require(batch >= 1, "batch: expected >= 1, got {}", batch);
  require(context >= 1, "context: expected >= 1, got {}", context);
  ModelCosts costs;
  costs.parameters = models::parameter_count(model);
  const auto length = static_cast<double>(context), tokens = static_cast<double>(batch) * length;
  costs.forward_flops = models::forward_flops(model, 1, context) / length;
  costs.backward_flops = 2 * costs.forward_flops;
  const double head = head_bytes(model, widths), input = static_cast<double>(model.width * widths.activation);
  double blocks = 0, largest = 0, heads = 0;  // of all layers
  models::for_each_layer(model, [&](const LayerConfig& layer, int64_t times) {
    const auto layers = static_cast<double>(times);
    const double block = block_bytes(model, layer, widths);
    blocks += layers * block;
    largest = std::max(largest, block);
    for (const HeadGroup& g : layer.groups) {
      heads += layers * static_cast<double>(g.heads);
      costs.kv_bytes += layers * static_cast<double>(g.key_value_heads() * (g.key_dim() + g.v_dim) * widths.cache);
    }
  });
  costs.activation_bytes = tokens * (blocks + head);
  costs.score_bytes = tokens * heads * length * static_cast<double>(widths.activation);
  costs.recompute_bytes = tokens * (static_cast<double>(model.layers) * input + largest + head);
  const auto parameters = static_cast<double>(costs.parameters);
  costs.weight_bytes = parameters * static_cast<double>(widths.weight);
  costs.gradient_bytes = parameters * static_cast<double>(widths.gradient);
  costs.optimizer_bytes = parameters * (2 * f32_bytes + static_cast<double>(widths.master));
  return costs;
}

double layer_flops(int64_t length, int64_t width, int64_t heads, int64_t qk_dim, int64_t v_dim, int64_t ffn_width) {
  const auto l = static_cast<double>(length), d = static_cast<double>(width), h = static_cast<double>(heads);
  const auto dims = static_cast<double>(qk_dim + v_dim);
  return 4 * l * d * h * dims + 2 * h * l * l * dims + 4 * l * d * static_cast<double>(ffn_width);
}

RooflineTimes roofline(const ModelCosts& costs, int64_t batch, int64_t context, const Ceilings& machine) {
  require(machine.flops > 0 && machine.bandwidth > 0, "roofline: the machine does {} FLOP/s and {} bytes/s",
          machine.flops, machine.bandwidth);
  const auto sequences = static_cast<double>(batch), tokens = sequences * static_cast<double>(context);
  const double forward = tokens * costs.forward_flops, cache = tokens * costs.kv_bytes;
  const double state = 2 * (costs.optimizer_bytes + costs.gradient_bytes);
  RooflineTimes times;
  times.prefill = larger(forward, costs.weight_bytes + cache, machine);
  times.decode = larger(sequences * costs.forward_flops, costs.weight_bytes + cache, machine);
  times.train_step = larger(3 * forward, 2 * costs.weight_bytes + state, machine);
  times.train_step_recompute = larger(4 * forward, 3 * costs.weight_bytes + state, machine);
  return times;
}

}  // namespace headroom::tasks
