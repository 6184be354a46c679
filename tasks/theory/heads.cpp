#include "tasks/theory/heads.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/rng.h"
#include "tasks/theory/trained_head.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::Tensor;

Tensor normal(const engine::Shape& shape, double std, engine::Rng& rng, const char* stream) {
  const int64_t numbers = shape.numel();
  return engine::random_normal(shape, 0, std, rng.take(stream, numbers + numbers % 2), DType::f64);
}

}  // namespace

void validate(const HeadSource& source) {
  require(source.layer >= 0 && source.head >= 0, "layer, head: expected >= 0, got {} and {}", source.layer,
          source.head);
  require(source.width >= 1 && source.head_dim >= 1, "width, head_dim: expected >= 1, got {} and {}", source.width,
          source.head_dim);
  require(source.run.empty() || !source.is_of_files(), "run, model: expected one of them");
  require(source.gain > 0 && std::isfinite(source.gain), "gain: expected > 0, got {}", source.gain);
}

void require_finite(const std::string& name, const Tensor& x) {
  for (const double value : x.to_vector<double>())
    require(std::isfinite(value), "{}: holds {}; expected finite numbers", name, value);
}

HeadMaps load_head(const HeadSource& source, uint64_t seed) {
  validate(source);
  if (!source.run.empty()) return read_trained_head(source);
  engine::Rng rng(seed);
  const double std = source.gain / std::sqrt(static_cast<double>(source.width));
  const engine::Shape shape{source.head_dim, source.width};
  HeadMaps maps;
  maps.wq = normal(shape, std, rng, "queries");
  maps.wk = normal(shape, std, rng, "keys");
  return maps;
}

Tensor random_tokens(int64_t width, int64_t length, double norm, uint64_t seed) {
  require(width >= 1 && length >= 1 && norm > 0, "tokens: width {} and length {} need >= 1, norm {} > 0", width, length,
          norm);
  engine::Rng rng(seed);
  Tensor x = normal({width, length}, 1, rng, "tokens");  // (D, L)
  auto* data = x.mutable_data<double>();
  for (int64_t t = 0; t < length; ++t) {
    double square = 0;
    for (int64_t i = 0; i < width; ++i) square += data[i * length + t] * data[i * length + t];
    for (int64_t i = 0; i < width; ++i) data[i * length + t] *= norm / std::sqrt(square);
  }
  return x;
}

Tensor head_tokens(const HeadSource& source, const HeadMaps& maps, HeadTokens kind, int64_t length, double norm,
                   uint64_t seed) {
  const int64_t width = maps.wq.dim(1) - (maps.has_biases ? 1 : 0);
  const Tensor x = kind == HeadTokens::random ? random_tokens(width, length, norm, seed)
                                              : embedded_tokens(source, length, seed);  // (D, L)
  if (!maps.has_biases) return x;
  return engine::concat({x, Tensor::full({1, length}, 1, DType::f64)}, 0);  // (D + 1, L)
}

}  // namespace headroom::tasks
