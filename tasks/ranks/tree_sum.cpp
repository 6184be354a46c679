#include "tasks/ranks/tree_sum.h"

#include "engine/ops/elementwise/binary.h"

namespace headroom::tasks {

using engine::Tensor;

TreeSum::TreeSum(const Tensor& like, int64_t parts) {
  for (int64_t i = 1; i < parts; i *= 2) levels_.push_back(Tensor::empty(like.shape(), like.dtype(), like.device()));
}

void TreeSum::add(const Tensor& gradients, int64_t i) const {
  size_t level = 0;
  for (; (i >> level) % 2 == 1; ++level) engine::add_inplace(gradients, levels_[level]);
  if (level < levels_.size()) engine::copy_inplace(levels_[level], gradients);
}

}  // namespace headroom::tasks
