#pragma once
#include "engine/elementwise/reference.h"
#include "engine/elementwise/rows.h"
#include "engine/kernel.h"

namespace headroom::engine {

/// y = f(x).
struct UnaryCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
  /// Makes strided operands contiguous block by block as `run` comes to them; false if there are none: for the
  /// dispatcher.
  bool run_in_blocks(void (*run)(UnaryCall&)) const;
};
/// dx = dy · f'(x), from x or y = f(x); the one the formula does not read is undefined.
struct UnaryGradCall {
  Tensor dy, x, y;
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy), optional_real("x", x), optional_real("y", y)}; }
  bool run_in_blocks(void (*run)(UnaryGradCall&)) const;
};

/// An elementwise op of one operand.
struct UnaryOp {
  Op<UnaryCall> forward;
  Op<UnaryGradCall> grad;
};

/// Any shape and strides.
Tensor unary(const UnaryOp& op, const Tensor& x);
Tensor unary_grad(const UnaryOp& op, const Tensor& dy, const Tensor& x, const Tensor& y);

namespace detail {

template <class T>
using UnaryLoop = void (*)(const T* x, T* y, int64_t n);
template <class T>
using UnaryGradLoop = void (*)(const T* dy, const T* x, const T* y, T* dx, int64_t n);

/// Spreads a call over threads. T: f32, f64, bf16 or f16.
template <class T>
void run_unary(UnaryCall& call, UnaryLoop<T> loop);
template <class T>
void run_unary_grad(UnaryGradCall& call, UnaryGradLoop<T> loop);
/// Runs a bf16 call by an f32 loop, block by block.
void run_unary_widened(UnaryCall& call, UnaryLoop<float> loop);
void run_unary_grad_widened(UnaryGradCall& call, UnaryGradLoop<float> loop);

template <class F, class T>
void unary_loops(UnaryCall& call) {
  run_unary<T>(call, unary_forward_loop<F, T>);
}
template <class F, class T>
void unary_grad_loops(UnaryGradCall& call) {
  run_unary_grad<T>(call, unary_grad_loop<F, T>);
}

}  // namespace detail

/// Exponentials per element of functor F: 0 unless it declares them.
template <class F>
constexpr double exponentials_of() {
  if constexpr (requires { F::exponentials; }) return F::exponentials;
  else return 0;
}

/// The rows of functor F and its SIMD kernel, which also computes bf16.
template <class F, const auto& kernel>
Op<UnaryCall>::Rows unary_rows() {
  using namespace detail;
  return elementwise_rows<UnaryCall>(
      kernel.levels(), [](UnaryCall& call) { run_unary<float>(call, kernel.best()); },
      [](UnaryCall& call) { run_unary_widened(call, kernel.best()); },
      elementwise_loops(unary_loops<F, float>, unary_loops<F, double>, unary_loops<F, bf16>, unary_loops<F, f16>));
}
template <class F, const auto& kernel>
Op<UnaryGradCall>::Rows unary_grad_rows() {
  using namespace detail;
  return elementwise_rows<UnaryGradCall>(
      kernel.levels(), [](UnaryGradCall& call) { run_unary_grad<float>(call, kernel.best()); },
      [](UnaryGradCall& call) { run_unary_grad_widened(call, kernel.best()); },
      elementwise_loops(unary_grad_loops<F, float>, unary_grad_loops<F, double>, unary_grad_loops<F, bf16>,
                        unary_grad_loops<F, f16>));
}

}  // namespace headroom::engine
