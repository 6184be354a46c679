#include "engine/ops/max/max.h"

#include <algorithm>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/max/max_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
int64_t max_position(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    if (!reference_only()) return kernel::max_position(x, n);
  int64_t best = 0;
  for (int64_t i = 1; i < n && x[best] == x[best]; ++i)
    if (x[i] > x[best] || x[i] != x[i]) best = i;
  return best;
}

/// x's axes, the kept ones before the reduced ones.
struct Plan {
  std::vector<int> order;
  Shape kept, with_ones;
  int64_t outer = 1, reduced = 1;

  Plan(const Shape& shape, const std::vector<int>& axes) {
    std::vector<bool> reduces(static_cast<size_t>(shape.rank()), axes.empty());
    for (int axis : axes) {
      const auto i = static_cast<size_t>(shape.index(axis, "max"));
      if (reduces[i]) fail("max: axis {} named twice for shape {}", axis, shape.str());
      reduces[i] = true;
    }
    for (bool want : {false, true})
      for (int i = 0; i < shape.rank(); ++i)
        if (reduces[static_cast<size_t>(i)] == want) {
          order.push_back(i);
          (want ? reduced : outer) *= shape[i];
        }
    for (int i = 0; i < shape.rank(); ++i) {
      with_ones.push_back(reduces[static_cast<size_t>(i)] ? 1 : shape[i]);
      if (!reduces[static_cast<size_t>(i)]) kept.push_back(shape[i]);
    }
  }
  int64_t grain() const { return std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, reduced)); }
};

}  // namespace

Max max(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  check_floating("max", {&x});
  const Plan plan(x.shape(), axes);
  Max out{Tensor::empty(keep_axes ? plan.with_ones : plan.kept, x.dtype()), Tensor::empty({plan.outer}, DType::i64)};
  if (plan.outer == 0) return out;
  if (plan.reduced == 0) fail("max: no elements along the axes to take the maximum of: x {}", x.shape().str());
  const Tensor rows = x.permute(plan.order).contiguous();  // (kept…, reduced…)
  visit_real("max", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(plan.outer, plan.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = rows.data<T>() + i * plan.reduced;
        const int64_t position = max_position(row, plan.reduced);
        out.index.mutable_data<int64_t>()[i] = position;
        out.y.mutable_data<T>()[i] = row[position];
      }
    });
  });
  return out;
}

Tensor max_grad(const Tensor& dy_in, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  const Plan plan(shape, axes);
  const Tensor dy = dy_in.contiguous();
  Shape ordered;
  std::vector<int> back(plan.order.size());
  for (size_t i = 0; i < plan.order.size(); ++i) {
    ordered.push_back(shape[plan.order[i]]);
    back[static_cast<size_t>(plan.order[i])] = static_cast<int>(i);
  }
  const Tensor rows = Tensor::zeros(ordered, dy.dtype());  // (kept…, reduced…)
  visit_real("max", dy, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < plan.outer; ++i)
      rows.mutable_data<T>()[i * plan.reduced + index.data<int64_t>()[i]] = dy.data<T>()[i];
  });
  return rows.permute(back);
}

}  // namespace headroom::engine
