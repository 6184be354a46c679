#include "models/key_scales.h"

#include <cmath>

namespace headroom::models {
namespace {

/// The mean squares (d) over their mean.
std::vector<float> mean_squares(const NormLayer& norm, bool interleaved) {
  const Tensor weight = norm.weight().value().to(engine::cpu).to(engine::DType::f32).contiguous();  // (d)
  const auto* w = weight.data<float>();
  const int64_t dim = weight.numel(), half = dim / 2;
  std::vector<float> out(static_cast<size_t>(dim));
  float mean = 0;
  for (int64_t i = 0; i < dim; ++i) {
    const int64_t other = interleaved ? i ^ 1 : (i + half) % dim;
    out[static_cast<size_t>(i)] = (w[i] * w[i] + w[other] * w[other]) / 2;
    mean += w[i] * w[i] / static_cast<float>(dim);
  }
  for (float& square : out) square = mean > 0 ? square / mean + 1e-4F : 1;
  return out;
}

}  // namespace

KeyScales even_key_scales(const NormLayer& q_norm, const NormLayer& k_norm, bool interleaved) {
  const std::vector<float> queries = mean_squares(q_norm, interleaved), keys = mean_squares(k_norm, interleaved);
  const auto dim = static_cast<int64_t>(queries.size());
  KeyScales out{Tensor::empty({dim}), Tensor::empty({dim})};  // (d), (d)
  for (int64_t i = 0; i < dim; ++i) {
    const auto at = static_cast<size_t>(i);
    const float fourth = queries[at] / keys[at];
    out.keys.mutable_data<float>()[i] = std::sqrt(std::sqrt(fourth));
    out.queries.mutable_data<float>()[i] = 1 / out.keys.data<float>()[i];
  }
  const engine::Device device = k_norm.weight().value().device();
  return {out.keys.to(device), out.queries.to(device)};
}

}  // namespace headroom::models
