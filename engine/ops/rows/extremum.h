#pragma once
#include <vector>

#include "engine/dispatch/op.h"
#include "engine/kernel.h"

namespace headroom::engine {

/// Values over some axes, and the index of each among the reduced elements (i64, in y's order), counted row-major.
struct Extremum {
  Tensor y, index;
};

struct ExtremumCall {
  Tensor x;             ///< (outer, reduced)
  Tensor y{}, index{};  ///< outer elements each; y undefined: only the index is wanted
  auto operands() { return std::array{real("x", x)}; }
};
struct ExtremumGradCall {
  Tensor dy, index;
  const char* name;  ///< of the op, for messages
  Tensor dx{};       ///< (outer, reduced), zeros before
  auto operands() { return std::array{real("dy", dy), engine::index("index", index)}; }
};
using ExtremumOp = Op<ExtremumCall>;
using ExtremumGradOp = Op<ExtremumGradCall>;

/// The extremum of x over `axes` (all if empty), which become size 1 if `keep_axes`, else vanish. Throws Error naming
/// the op if an axis is named twice or there is nothing to reduce.
Extremum extremum(const ExtremumOp& op, const Tensor& x, const std::vector<int>& axes, bool keep_axes);
/// Only the index, in y's shape.
Tensor extremum_index(const ExtremumOp& op, const Tensor& x, const std::vector<int>& axes, bool keep_axes);
/// dx = dy at the extremum, 0 elsewhere; `shape` is x's. Throws Error if an index is outside the reduced axes; on CUDA,
/// where kernels cannot throw, its dy is dropped.
Tensor extremum_grad(const ExtremumGradOp& op, const Tensor& dy, const Tensor& index, const Shape& shape,
                     const std::vector<int>& axes);

namespace detail {

/// The position of the extremum of n ≥ 1 elements.
template <class T>
using Position = int64_t (*)(const T* x, int64_t n);
/// Spreads a call over threads. T: f32 or f64.
template <class T>
void run_extremum(ExtremumCall& call, Position<T> position);

/// The first NaN, if any, else the first element that no other comes before.
template <class T, class Before>
int64_t extremum_position(const T* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n && x[best] == x[best]; ++i)
    if (Before()(x[i], x[best]) || x[i] != x[i]) best = i;
  return best;
}

}  // namespace detail

/// The rows of a forward pass: an f32 kernel, and the reference loops in f32 and f64.
template <const auto& kernel, class Before>
ExtremumOp::Rows extremum_rows() {
  using namespace detail;
  return kernel_and_loops<ExtremumCall>(
      kernel.levels(), [](ExtremumCall& call) { run_extremum<float>(call, kernel.best()); },
      [](ExtremumCall& call) { run_extremum<float>(call, extremum_position<float, Before>); },
      [](ExtremumCall& call) { run_extremum<double>(call, extremum_position<double, Before>); });
}
/// The rows of a gradient: one loop, in f32 and f64.
ExtremumGradOp::Rows extremum_grad_rows();

}  // namespace headroom::engine
