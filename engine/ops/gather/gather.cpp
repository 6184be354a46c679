#include "engine/ops/gather/gather.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

Tensor as_i64(const Tensor& indices) { return indices.dtype() == DType::i32 ? indices.to(DType::i64) : indices; }

/// Shape of the result. Throws Error unless the index fits x.
Shape checked(const char* op, const Shape& x, int axis, const Tensor& indices) {
  const Shape& shape = indices.shape();
  bool fits = shape.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || shape[i] == x[i] || shape[i] == 1;
  if (!fits) fail("{}: along axis {}, index {} does not fit x {}", op, axis, shape.str(), x.str());
  return x.with(axis, shape[axis]);
}

/// Broadcasts the index over the axes before or after the gathered one if it varies there; else keeps it small.
GatherLayout layout_of(const Shape& x, int axis, Tensor& indices) {
  Shape wide = indices.shape();
  const int64_t outer = x.numel(0, axis), inner = x.numel(axis + 1, x.rank()), m = wide[axis];
  const bool varies_o = wide.numel(0, axis) > 1, varies_j = wide.numel(axis + 1, x.rank()) > 1;
  for (int i = 0; i < x.rank(); ++i)
    if ((i < axis && varies_o) || (i > axis && varies_j)) wide[i] = x[i];
  const int64_t stride_k = varies_j ? inner : 1;
  indices = indices.expand(wide).contiguous();
  return {outer, x[axis], inner, m, varies_o ? m * stride_k : 0, stride_k, varies_j ? 1 : 0};
}

void check_range(const char* op, const Tensor& x, int64_t n, const Tensor& given) {
  const Tensor indices = given.contiguous();
  const auto* values = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i)
    if (values[i] < 0 || values[i] >= n)
      fail("{}: index {} at position {} is outside [0, {}): x {}, index {}", op, values[i], i, n, x.shape().str(),
           indices.shape().str());
}

template <class T>
void run_as(GatherCall& c) {
  const GatherLayout& at = c.at;
  const auto* index = c.indices.data<int64_t>();
  const auto* x = static_cast<const T*>(c.x.raw());
  auto* y = static_cast<T*>(c.y.mutable_raw());
  parallel_for(at.outer * at.m, std::max<int64_t>(1, elementwise_grain / at.inner), [&](int64_t row) {
    const int64_t o = row / at.m, k = row % at.m;
    const int64_t* from = index + o * at.stride_o + k * at.stride_k;
    const T* slices = x + o * at.n * at.inner;
    T* to = y + row * at.inner;
    if (at.stride_j == 0) std::memcpy(to, slices + *from * at.inner, static_cast<size_t>(at.inner) * sizeof(T));
    else
      for (int64_t j = 0; j < at.inner; ++j) to[j] = slices[from[j] * at.inner + j];
  });
}

void run(GatherCall& c) {
  check_range("gather", c.x, c.at.n, c.given);
  visit_word(c.x.dtype(), [&](auto word) { run_as<decltype(word)>(c); });
}

template <class T>
void run_grad(GatherGradCall& c) {
  check_range("gather_grad", c.dx, c.at.n, c.given);
  const GatherLayout& at = c.at;
  const auto* index = c.indices.data<int64_t>();
  const T* dy = c.dy.data<T>();
  T* dx = c.dx.mutable_data<T>();
  // A task owns some columns of one outer slice, and so every element that it adds to.
  const int64_t columns = std::min<int64_t>(at.inner, 256), pieces = (at.inner + columns - 1) / columns;
  const int64_t grain = std::max<int64_t>(1, elementwise_grain / ((at.m + at.n) * columns));
  parallel_for(at.outer * pieces, grain, [&](int64_t task) {
    const int64_t o = task / pieces, first = task % pieces * columns, last = std::min(first + columns, at.inner);
    T* to = dx + o * at.n * at.inner;
    for (int64_t i = 0; i < at.n; ++i) std::fill(to + i * at.inner + first, to + i * at.inner + last, T(0));
    for (int64_t k = 0; k < at.m; ++k) {
      const T* from = dy + (o * at.m + k) * at.inner;
      const int64_t* where = index + o * at.stride_o + k * at.stride_k;
      for (int64_t j = first; j < last; ++j) to[where[j * at.stride_j] * at.inner + j] += from[j];
    }
  });
}

/// In bf16: summed in f32 and rounded once.
void run_grad_widened(GatherGradCall& c) {
  GatherGradCall wide = c;
  wide.dy = c.dy.to(DType::f32);
  wide.dx = Tensor::empty(c.dx.shape());
  run_grad<float>(wide);
  copy_inplace(c.dx, wide.dx.to(DType::bf16));
}

}  // namespace

Op<GatherCall> gather_op{"gather", {{.name = "copies", .dtypes = every_dtype, .run = run, .is_reference = true}}};
Op<GatherGradCall> gather_grad_op{
    "gather_grad",
    {{.name = "loops", .dtypes = DType::f32, .run = run_grad<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run_grad<double>, .is_reference = true},
     {.name = "in f32", .dtypes = DType::bf16, .run = run_grad_widened, .is_reference = true}}};

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  GatherCall call{x, as_i64(index)};
  gather_op.check(call);
  const int along = x.shape().index(axis, "gather");
  const Shape shape = checked("gather", x.shape(), along, index);
  call.y = Tensor::empty(shape, x.dtype(), x.device());
  if (call.y.numel() == 0) return call.y;
  call.given = call.indices;
  call.at = layout_of(x.shape(), along, call.indices);
  gather_op.run(call);
  return call.y;
}

Tensor gather_grad(const Tensor& dy, const Shape& shape, int axis, const Tensor& index) {
  GatherGradCall call{dy, as_i64(index)};
  gather_grad_op.check(call);
  const int along = shape.index(axis, "gather_grad");
  if (dy.shape() != checked("gather_grad", shape, along, index))
    fail("gather_grad: dy {} does not fit x {} and index {}", dy.shape().str(), shape.str(), index.shape().str());
  if (dy.numel() == 0) return Tensor::zeros(shape, dy.dtype(), dy.device());
  call.dx = Tensor::empty(shape, dy.dtype(), dy.device());
  call.given = call.indices;
  call.at = layout_of(shape, along, call.indices);
  gather_grad_op.run(call);
  return call.dx;
}

}  // namespace headroom::engine
