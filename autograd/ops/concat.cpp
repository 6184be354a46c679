#include "engine/ops/concat/concat.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var concat(const std::vector<Var>& parts, int axis) {
  std::vector<Tensor> values;
  std::vector<int64_t> sizes;
  for (const Var& part : parts) values.push_back(part.value());
  const Tensor y = engine::concat(values, axis);
  for (const Tensor& value : values) sizes.push_back(value.dim(axis));
  return record(
      "concat", y, parts,
      [](const Tensor& dy, const Needs& needs, int kept_axis, const std::vector<int64_t>& kept_sizes) {
        std::vector<Tensor> gradients(kept_sizes.size());
        int64_t begin = 0;
        for (size_t i = 0; i < kept_sizes.size(); begin += kept_sizes[i++])
          if (needs[i]) gradients[i] = dy.slice(kept_axis, begin, begin + kept_sizes[i]);
        return gradients;
      },
      axis, sizes);
}

}  // namespace headroom::autograd
