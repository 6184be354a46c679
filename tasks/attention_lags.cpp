#include "tasks/attention_lags.h"

#include "engine/error.h"

namespace headroom::tasks {

Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layers) {
  require(last >= 0 && last < batch.input.dim(1), "attention by lag: lags up to {} want more than {} positions", last,
          batch.input.dim(1));
  require(layers >= 1 && layers <= model.config().layers, "attention by lag: wants 1 to {} layers, got {}",
          model.config().layers, layers);
  const autograd::NoGrad no_grad;
  std::vector<Tensor> probabilities;  // (B, H, T, T) of each layer and group
  model.forward(batch.input, {.key_mask = batch.key_mask, .probabilities = &probabilities});
  const std::vector<models::LayerConfig> shapes = models::layers_of(model.config());
  size_t groups = 0;
  for (size_t i = 0; i < static_cast<size_t>(layers); ++i) groups += shapes[i].groups.size();
  probabilities.resize(groups);
  const int64_t sequences = batch.input.dim(0), length = batch.input.dim(1);
  std::vector<bool> is_query(static_cast<size_t>(sequences * length), true);  // not padding
  if (batch.key_mask.defined())
    for (size_t i = 0; const double kept : batch.key_mask.to_vector<double>()) is_query[i++] = kept != 0;
  int64_t positions = 0;
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    for (int64_t t = last; t < length; ++t) positions += is_query[static_cast<size_t>(sequence * length + t)] ? 1 : 0;
  require(positions > 0, "attention by lag: no sequence of {} has a position from {} on", sequences, last);
  std::vector<double> sums(static_cast<size_t>(last) + 1, 0.0);
  for (const Tensor& group : probabilities) {
    const int64_t heads = group.dim(1);
    const std::vector<double> p = group.to_vector<double>();
    for (int64_t row = 0; row < sequences * heads; ++row)
      for (int64_t t = last; t < length; ++t) {
        if (!is_query[static_cast<size_t>(row / heads * length + t)]) continue;
        for (int64_t s = 0; s <= last; ++s)
          sums[static_cast<size_t>(s)] += p[static_cast<size_t>((row * length + t) * length + t - s)];
      }
  }
  Metrics metrics;
  for (int64_t s = 0; s <= last; ++s)
    metrics[fmt::format("attention_at_lag_{}", s)] = sums[static_cast<size_t>(s)] / static_cast<double>(positions);
  return metrics;
}

}  // namespace headroom::tasks
