#include "tasks/ranks/tree_sum.h"

#include "engine/ops/elementwise/binary.h"

namespace headroom::tasks {

using engine::Tensor;

TreeSum::TreeSum(const Tensor& like, int64_t parts) {
  for (int64_t i = 1; i < parts; i *= 2) levels_.push_back(Tensor::empty(like.shape(), like.dtype(), like.device()));
}

void TreeSum::add(const Tensor& gradients, int64_t i, int64_t begin) const {
  const auto there = [&](size_t level) { return levels_[level].slice(0, begin, begin + gradients.dim(0)); };
  size_t level = 0;
  for (; (i >> level) % 2 == 1; ++level) engine::add_inplace(gradients, there(level));
  if (level < levels_.size()) engine::copy_inplace(there(level), gradients);
}

}  // namespace headroom::tasks
