#include "tasks/measure/head_source.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"

namespace headroom::tasks {

using engine::DType;
using engine::Tensor;

void validate(const HeadSource& source) {
  require(source.layer >= 0 && source.head >= 0, "layer, head: expected >= 0, got {} and {}", source.layer,
          source.head);
  require(source.width >= 1 && source.head_dim >= 1, "width, head_dim: expected >= 1, got {} and {}", source.width,
          source.head_dim);
  require(source.run.empty() || !source.is_of_files(), "run, model: expected one of them");
  require(source.gain > 0 && std::isfinite(source.gain), "gain: expected > 0, got {}", source.gain);
}

HeadMaps load_head(const HeadSource& source, uint64_t seed) {
  validate(source);
  if (!source.run.empty()) return read_head_of_run(source);
  engine::Rng rng(seed);
  const double std = source.gain / std::sqrt(static_cast<double>(source.width));
  const engine::Shape shape{source.head_dim, source.width};
  HeadMaps maps;
  maps.wq = engine::random_normal(shape, rng, "queries", 0, std, engine::DType::f64);
  maps.wk = engine::random_normal(shape, rng, "keys", 0, std, engine::DType::f64);
  return maps;
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
