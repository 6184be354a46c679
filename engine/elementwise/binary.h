#pragma once
#include "engine/elementwise/reference.h"
#include "engine/elementwise/rows.h"
#include "engine/kernel.h"

namespace headroom::engine {

/// y = f(a, b), both broadcast to y's shape.
struct BinaryCall {
  Tensor a, b;
  Tensor y{};
  auto operands() { return std::array{real("a", a), real("b", b)}; }
  bool run_in_blocks(void (*run)(BinaryCall&)) const;  ///< as UnaryCall's
};
using BinaryOp = Op<BinaryCall>;

/// Shapes broadcast as in NumPy.
Tensor binary(const BinaryOp& op, const Tensor& a, const Tensor& b);

/// d = dy · dy/da or dy · dy/db at (a, b), of dy's shape; a and b are broadcast to it.
struct BinaryGradCall {
  Tensor dy, a, b;
  bool by_b = false;
  Tensor d{};
  auto operands() { return std::array{real("dy", dy), real("a", a), real("b", b)}; }
  bool run_in_blocks(void (*run)(BinaryGradCall&)) const;
};
using BinaryGradOp = Op<BinaryGradCall>;

Tensor binary_grad(const BinaryGradOp& op, const Tensor& dy, const Tensor& a, const Tensor& b, bool by_b);

namespace detail {

/// Works along one run: strides are 0 (broadcast) or 1. R is the result's type.
template <class T, class R = T>
using BinaryLoop = void (*)(const T* a, int64_t stride_a, const T* b, int64_t stride_b, R* y, int64_t n);
template <class T>
using BinaryGradLoop = void (*)(const T* dy, const T* a, int64_t stride_a, const T* b, int64_t stride_b, T* d,
                                int64_t n);

/// Splits a call into runs and spreads them over threads. T: f32, f64, bf16 or f16.
template <class T>
void run_binary(BinaryCall& call, BinaryLoop<T> loop);
template <class T>
void run_binary_grad(BinaryGradCall& call, BinaryGradLoop<T> loop_a, BinaryGradLoop<T> loop_b);
/// Runs a bf16 call by f32 loops, block by block.
void run_binary_widened(BinaryCall& call, BinaryLoop<float> loop);
void run_binary_grad_widened(BinaryGradCall& call, BinaryGradLoop<float> loop_a, BinaryGradLoop<float> loop_b);

template <class F, class T>
void binary_loops(BinaryCall& call) {
  run_binary<T>(call, binary_forward_loop<F, T>);
}
template <class F, class T>
void binary_grad_loops(BinaryGradCall& call) {
  run_binary_grad<T>(call, binary_grad_loop<SlopeA<F>, T>, binary_grad_loop<SlopeB<F>, T>);
}

}  // namespace detail

/// The reference loops of functor F.
template <class F>
BinaryOp::Rows binary_loop_rows() {
  using namespace detail;
  return elementwise_loops(binary_loops<F, float>, binary_loops<F, double>, binary_loops<F, bf16>,
                           binary_loops<F, f16>);
}
template <class F>
BinaryGradOp::Rows binary_grad_loop_rows() {
  using namespace detail;
  return elementwise_loops(binary_grad_loops<F, float>, binary_grad_loops<F, double>, binary_grad_loops<F, bf16>,
                           binary_grad_loops<F, f16>);
}

/// The same, after the SIMD kernels, which also compute bf16.
template <class F, const auto& kernel>
BinaryOp::Rows binary_rows() {
  return elementwise_rows<BinaryCall>(
      kernel.levels(), [](BinaryCall& call) { detail::run_binary<float>(call, kernel.best()); },
      [](BinaryCall& call) { detail::run_binary_widened(call, kernel.best()); }, binary_loop_rows<F>());
}
template <class F, const auto& kernel_a, const auto& kernel_b>
BinaryGradOp::Rows binary_grad_rows() {
  return elementwise_rows<BinaryGradCall>(
      kernel_a.levels(),
      [](BinaryGradCall& call) { detail::run_binary_grad<float>(call, kernel_a.best(), kernel_b.best()); },
      [](BinaryGradCall& call) { detail::run_binary_grad_widened(call, kernel_a.best(), kernel_b.best()); },
      binary_grad_loop_rows<F>());
}

}  // namespace headroom::engine
