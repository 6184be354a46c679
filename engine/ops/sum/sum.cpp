#include "engine/ops/sum/sum.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/ops/sum/sum_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t chunk_rows = 256, chunk_run = 1 << 14;

/// The functions that add n contiguous values, and `rows` rows of n into one.
template <class T, class In = T>
struct Adders {
  T (*run)(const In* x, int64_t n);
  void (*columns)(const In* x, T* y, int64_t rows, int64_t n);
};

template <class T>
T run_loop(const T* x, int64_t n) {
  T total = 0;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

template <class T>
void columns_loop(const T* x, T* y, int64_t rows, int64_t n) {
  std::fill(y, y + n, T(0));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) y[j] += x[i * n + j];
}

/// (outer, reduced, inner) → (outer, inner), the reduced axis in fixed chunks, added by `first`, whose sums `add` adds
/// in order.
template <class T, class In>
void reduce(const Tensor& from_x, const In* x, T* y, const Adders<T, In>& first_adders, const Adders<T>& add) {
  const int64_t outer = from_x.dim(0), reduced = from_x.dim(1), inner = from_x.dim(2);
  const int64_t step = inner == 1 ? chunk_run : chunk_rows, chunks = std::max<int64_t>(1, (reduced + step - 1) / step);
  const Tensor partial = Tensor::empty({outer, chunks, inner}, dtype_of<T>());
  T* p = partial.mutable_data<T>();
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, std::min(step, reduced) * inner));
  parallel_for(outer * chunks, grain, [&](int64_t task) {
    const int64_t o = task / chunks, first = task % chunks * step, rows = std::min(step, reduced - first);
    const In* from = x + (o * reduced + first) * inner;
    if (inner == 1) p[task] = first_adders.run(from, rows);
    else first_adders.columns(from, p + task * inner, rows, inner);
  });
  parallel_for(outer, std::max<int64_t>(1, chunk_run / std::max<int64_t>(1, chunks * inner)), [&](int64_t o) {
    if (chunks == 1) std::copy(p + o * inner, p + (o + 1) * inner, y + o * inner);
    else if (inner == 1) y[o] = add.run(p + o * chunks, chunks);
    else add.columns(p + o * chunks * inner, y + o * inner, chunks, inner);
  });
}

Adders<float> simd_adders() { return {kernel::sum_run.best(), kernel::sum_columns.best()}; }

void reduce_simd(SumCall& call) {
  reduce(call.x, call.x.data<float>(), call.y.mutable_data<float>(), simd_adders(), simd_adders());
}

/// bf16 in f32, rounded once, or not at all where y is f32.
void reduce_bf16(SumCall& call) {
  const Tensor y = call.y.dtype() == DType::f32 ? call.y : Tensor::empty(call.y.shape());
  const Adders<float, uint16_t> first{kernel::sum_run_bf16.best(), kernel::sum_columns_bf16.best()};
  reduce(call.x, &call.x.data<bf16>()->bits, y.mutable_data<float>(), first, simd_adders());
  if (call.y.dtype() == DType::bf16) copy_inplace(call.y, y.to(DType::bf16));
}

template <class T>
void reduce_loops(SumCall& call) {
  const Adders<T> add{run_loop<T>, columns_loop<T>};
  reduce(call.x, call.x.data<T>(), call.y.mutable_data<T>(), add, add);
}

/// Halves by the reference loops are added in f32 and rounded once.
void reduce_widened(SumCall& call) {
  SumCall wide{call.x.to(DType::f32), Tensor::empty(call.y.shape(), DType::f32)};
  sum_op.run(wide);
  copy_inplace(call.y, wide.y.to(call.y.dtype()));
}

}  // namespace

Op<SumCall> sum_op{
    "sum",
    {{.name = "simd", .dtypes = DType::f32, .run = reduce_simd, .levels = kernel::sum_run.levels()},
     {.name = "simd", .dtypes = DType::bf16, .run = reduce_bf16, .levels = kernel::sum_run_bf16.levels()},
     {.name = "loops", .dtypes = DType::f32, .run = reduce_loops<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = reduce_loops<double>, .is_reference = true},
     {.name = "in f32", .dtypes = DType::bf16 | DType::f16, .run = reduce_widened, .is_reference = true}}};

Tensor sum(const Tensor& x, std::vector<int> axes, bool keep_axes) {
  SumCall call{x};
  sum_op.check(call);
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), axes.empty());
  for (int axis : axes) {
    const auto i = static_cast<size_t>(x.shape().index(axis, "sum"));
    require(!reduced[i], "sum: axis {} named twice for shape {}", axis, x.shape());
    reduced[i] = true;
  }
  // Kept axes first, then reduced, then the kept ones after the last reduced one: a view, copied only when they mix.
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
  call.x = x.permute(order).reshape({outer, middle, inner});
  call.y = Tensor::empty(keep_axes ? out : kept, x.dtype(), x.device());
  if (call.y.numel() > 0) sum_op.run(call);
  return call.y;
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
