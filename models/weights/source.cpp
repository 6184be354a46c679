#include "models/weights/source.h"

#include <cmath>

namespace headroom::models {

Tensor Initializer::weight(int64_t out, int64_t in, bool ends_branch) const {
  const Shape shape{out, in};  // (out, in)
  const auto fan_in = static_cast<double>(in), fan_out = static_cast<double>(out);
  switch (init_.scheme) {
    case InitScheme::torch_linear:
      return uniform(shape, 1 / std::sqrt(fan_in));
    case InitScheme::normal:
      return normal(shape, init_.std);
    case InitScheme::xavier:
      return uniform(shape, std::sqrt(6 / (fan_in + fan_out)));
    case InitScheme::kaiming:
      return normal(shape, std::sqrt(2 / fan_in));
    case InitScheme::gpt2:
      break;
  }
  // The sum of 2 · layers branches keeps the variance of one (Radford et al., 2019).
  return normal(shape, ends_branch ? 0.02 / std::sqrt(2 * static_cast<double>(layers_)) : 0.02);
}

Tensor Initializer::bias(int64_t out, int64_t in) const {
  if (init_.scheme != InitScheme::torch_linear) return constant({out}, 0);
  return uniform({out}, 1 / std::sqrt(static_cast<double>(in)));
}

Tensor Initializer::normal(const Shape& shape, double std) const {
  return engine::random_normal(shape, rng_, "init", 0, std, dtype_);
}

Tensor Initializer::uniform(const Shape& shape, double bound) const {
  return engine::random_uniform(shape, rng_, "init", -bound, bound, dtype_);
}

Weight WeightScope::matrix(const std::string& name, int64_t out, int64_t in, int64_t rank, bool ends_branch,
                           int64_t heads) const {
  if (rank == 0)
    return source_->matrix(full(name), out, in, [=](const Initializer& i) { return i.weight(out, in, ends_branch); });
  const auto factor = [&](const char* suffix, int64_t rows, int64_t columns, bool last) {
    return source_->tensor(full(name) + suffix, {rows, columns},
                           [=](const Initializer& i) { return i.weight(rows, columns, last); });
  };
  Var a = factor("_a", out, rank, ends_branch), b = factor("_b", heads * rank, in, false);
  return Weight(LowRank{std::move(a), std::move(b), heads});
}

Weight WeightScope::table(const std::string& name, int64_t rows, int64_t width, double std) const {
  return source_->matrix(full(name), rows, width, [=](const Initializer& i) { return i.normal({rows, width}, std); });
}

Var WeightScope::constant(const std::string& name, const Shape& shape, double value) const {
  return tensor(name, shape, [=](const Initializer& i) { return i.constant(shape, value); });
}

}  // namespace headroom::models
