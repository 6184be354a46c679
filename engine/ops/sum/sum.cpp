#include "engine/ops/sum/sum.h"

#include <algorithm>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/sum/sum_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t chunk_rows = 256, chunk_run = 1 << 14;

template <class T>
T add_run(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    if (!reference_only()) return kernel::sum_run(x, n);
  T total = 0;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

template <class T>
void add_columns(const T* x, T* y, int64_t rows, int64_t n) {
  if constexpr (std::is_same_v<T, float>)
    if (!reference_only()) return kernel::sum_columns(x, y, rows, n);
  std::fill(y, y + n, T(0));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) y[j] += x[i * n + j];
}

/// (outer, reduced, inner) → (outer, inner), the reduced axis in fixed chunks whose sums are added in order.
template <class T>
void reduce(const T* x, T* y, int64_t outer, int64_t reduced, int64_t inner) {
  const int64_t step = inner == 1 ? chunk_run : chunk_rows, chunks = std::max<int64_t>(1, (reduced + step - 1) / step);
  Tensor partial = Tensor::empty({outer, chunks, inner}, dtype_of<T>());
  T* p = partial.mutable_data<T>();
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, std::min(step, reduced) * inner));
  parallel_ranges(outer * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t o = task / chunks, first = task % chunks * step, rows = std::min(step, reduced - first);
      const T* from = x + (o * reduced + first) * inner;
      if (inner == 1) p[task] = add_run(from, rows);
      else add_columns(from, p + task * inner, rows, inner);
    }
  });
  parallel_ranges(outer, std::max<int64_t>(1, chunk_run / std::max<int64_t>(1, chunks * inner)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t o = begin; o < end; ++o) {
                      if (chunks == 1) std::copy(p + o * inner, p + (o + 1) * inner, y + o * inner);
                      else if (inner == 1) y[o] = add_run(p + o * chunks, chunks);
                      else add_columns(p + o * chunks * inner, y + o * inner, chunks, inner);
                    }
                  });
}

}  // namespace

Tensor sum(const Tensor& x, std::vector<int> axes, bool keep_axes) {
  check_floating("sum", {&x});
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes.empty());
  for (int axis : axes) {
    const auto i = static_cast<size_t>(x.shape().index(axis, "sum"));
    require(!reduced[i], "sum: axis {} named twice for shape {}", axis, x.shape().str());
    reduced[i] = true;
  }
  // Kept axes first, then reduced, then the kept ones behind the last reduced one: a view, copied only when they mix.
  std::vector<int> order;
  Shape kept, out;
  int last_reduced = -1;
  for (int i = 0; i < x.rank(); ++i)
    if (reduced[static_cast<size_t>(i)]) last_reduced = i;
  int64_t outer = 1, middle = 1, inner = 1;
  const auto take = [&](bool want_reduced, int begin, int end, int64_t& product) {
    for (int i = begin; i < end; ++i)
      if (reduced[static_cast<size_t>(i)] == want_reduced) order.push_back(i), product *= x.dim(i);
  };
  take(false, 0, last_reduced, outer);
  take(true, 0, last_reduced + 1, middle);
  take(false, last_reduced + 1, x.rank(), inner);
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) kept.push_back(x.dim(i));
    out.push_back(reduced[static_cast<size_t>(i)] ? 1 : x.dim(i));
  }
  if (!x.device().is_cpu()) return sum(x.to(cpu), std::move(axes), keep_axes).to(x.device());
  const Tensor ordered = x.permute(order).contiguous();
  Tensor y = Tensor::empty(keep_axes ? out : kept, x.dtype());
  if (y.numel() == 0) return y;
  visit_real("sum", x, [&](auto zero) {
    using T = decltype(zero);
    reduce(ordered.data<T>(), y.mutable_data<T>(), outer, middle, inner);
  });
  return y;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (!broadcasts_to(shape, x.shape())) fail("sum_to: {} does not broadcast to {}", shape.str(), x.shape().str());
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int own = axis - (x.rank() - shape.rank());
    if (own < 0 || (shape[own] == 1 && x.dim(axis) != 1)) axes.push_back(axis);
  }
  return axes.empty() ? x.reshape(shape) : sum(x, axes, true).reshape(shape);
}

}  // namespace headroom::engine
