#include "models/weights/source.h"

namespace headroom::models {

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
