#pragma once
#include "engine/dispatch/op.h"
#include "engine/elementwise/reference.h"
#include "engine/kernel.h"

namespace headroom::engine {

/// y = f(a, b), both broadcast to y's shape.
struct BinaryCall {
  Tensor a, b;
  Tensor y{};
  auto operands() { return std::array{real("a", a), real("b", b)}; }
};
using BinaryOp = Op<BinaryCall>;

/// Shapes broadcast as in NumPy.
Tensor binary(const BinaryOp& op, const Tensor& a, const Tensor& b);

namespace detail {

/// Along one run: strides are 0 (broadcast) or 1.
template <class T>
using BinaryLoop = void (*)(const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* y, int64_t n);

/// Cuts a call into runs and those among the threads. T: f32, f64, bf16 or f16.
template <class T>
void run_binary(BinaryCall& call, BinaryLoop<T> loop);

template <class T, BinaryLoop<T> loop>
Implementation<BinaryCall> binary_loops() {
  return {.name = "loops",
          .dtypes = dtype_of<T>(),
          .run = [](BinaryCall& call) { run_binary<T>(call, loop); },
          .is_reference = true};
}

}  // namespace detail

/// The rows of a functor F: reference loops in f32, f64 and the halves, and the SIMD kernel in f32.
template <class F, const auto& kernel>
BinaryOp::Rows binary_rows() {
  using namespace detail;
  return {{.name = "simd",
           .dtypes = DType::f32,
           .run = [](BinaryCall& call) { run_binary<float>(call, kernel.best()); },
           .levels = kernel.levels()},
          binary_loops<float, binary_forward_loop<F, float>>(),
          binary_loops<double, binary_forward_loop<F, double>>(),
          binary_loops<bf16, binary_forward_loop<F, bf16>>(),
          binary_loops<f16, binary_forward_loop<F, f16>>()};
}

}  // namespace headroom::engine
