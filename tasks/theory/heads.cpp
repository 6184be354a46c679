#include "tasks/theory/heads.h"

#include <cmath>

#include "engine/error.h"
#include "engine/rng.h"

namespace headroom::tasks {

using engine::DType;
using engine::Tensor;

void require_finite(const std::string& name, const Tensor& x) {
  for (const double value : x.to_vector<double>())
    require(std::isfinite(value), "{}: holds {}; expected finite numbers", name, value);
}

Tensor random_tokens(int64_t width, int64_t length, double norm, uint64_t seed) {
  require(width >= 1 && length >= 1 && norm > 0, "tokens: width {} and length {} need >= 1, norm {} > 0", width, length,
          norm);
  engine::Rng rng(seed);
  Tensor x = engine::random_normal({width, length}, rng, "tokens", 0, 1, DType::f64);  // (D, L)
  auto* data = x.mutable_data<double>();
  for (int64_t t = 0; t < length; ++t) {
    double square = 0;
    for (int64_t i = 0; i < width; ++i) square += data[i * length + t] * data[i * length + t];
    for (int64_t i = 0; i < width; ++i) data[i * length + t] *= norm / std::sqrt(square);
  }
  return x;
}

}  // namespace headroom::tasks
