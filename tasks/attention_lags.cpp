#include "tasks/attention_lags.h"

#include "engine/error.h"

namespace headroom::tasks {

Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last) {
  require(last >= 0 && last < batch.input.dim(1), "attention by lag: lags up to {} want more than {} positions", last,
          batch.input.dim(1));
  const autograd::NoGrad no_grad;
  std::vector<Tensor> probabilities;  // (B, H, T, T) of each layer and group
  model.forward(batch.input, {.key_mask = batch.key_mask, .probabilities = &probabilities});
  probabilities.resize(model.config().groups.size());
  std::vector<double> sums(static_cast<size_t>(last) + 1, 0.0);
  int64_t positions = 0;
  for (const Tensor& group : probabilities) {
    const int64_t batches = group.dim(0), heads = group.dim(1), length = group.dim(2);
    const std::vector<double> p = group.to_vector<double>();
    positions = batches * (length - last);
    for (int64_t row = 0; row < batches * heads; ++row)
      for (int64_t t = last; t < length; ++t)
        for (int64_t s = 0; s <= last; ++s)
          sums[static_cast<size_t>(s)] += p[static_cast<size_t>((row * length + t) * length + t - s)];
  }
  Metrics metrics;
  for (int64_t s = 0; s <= last; ++s)
    metrics[fmt::format("attention_at_lag_{}", s)] = sums[static_cast<size_t>(s)] / static_cast<double>(positions);
  return metrics;
}

}  // namespace headroom::tasks
