#pragma once
#include "engine/dispatch/op.h"
#include "engine/kernel.h"

namespace headroom::engine {

/// y = f(x), each row of the last axis by itself.
struct RowCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
/// dx from dy and y.
struct RowGradCall {
  Tensor dy, y;
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy), real("y", y)}; }
};

/// An op that maps rows: softmax, log_softmax.
struct RowOp {
  Op<RowCall> forward;
  Op<RowGradCall> grad;
};

/// x (…, n) → y (…, n). Throws Error naming the op if x has no last axis.
Tensor map_rows(const RowOp& op, const Tensor& x);
Tensor map_rows_grad(const RowOp& op, const Tensor& dy, const Tensor& y);

namespace detail {

/// `rows` rows of n elements.
template <class T>
using RowLoop = void (*)(const T* x, T* y, int64_t rows, int64_t n);
template <class T>
using RowGradLoop = void (*)(const T* dy, const T* y, T* dx, int64_t rows, int64_t n);

/// Spreads a call over threads. T: f32 or f64.
template <class T>
void run_rows(RowCall& call, RowLoop<T> loop);
template <class T>
void run_rows_grad(RowGradCall& call, RowGradLoop<T> loop);
/// Runs a bf16 call by an f32 loop, a few rows at a time.
void run_rows_widened(RowCall& call, RowLoop<float> loop);
void run_rows_grad_widened(RowGradCall& call, RowGradLoop<float> loop);

}  // namespace detail

/// The rows of a forward pass or a gradient: an f32 kernel, also for bf16, and the reference loops in f32 and f64.
template <const auto& kernel, detail::RowLoop<float> loop_f32, detail::RowLoop<double> loop_f64>
Op<RowCall>::Rows row_rows() {
  using namespace detail;
  return kernel_and_loops<RowCall>(
      kernel.levels(), [](RowCall& call) { run_rows<float>(call, kernel.best()); },
      [](RowCall& call) { run_rows<float>(call, loop_f32); }, [](RowCall& call) { run_rows<double>(call, loop_f64); },
      [](RowCall& call) { run_rows_widened(call, kernel.best()); });
}
template <const auto& kernel, detail::RowGradLoop<float> loop_f32, detail::RowGradLoop<double> loop_f64>
Op<RowGradCall>::Rows row_grad_rows() {
  using namespace detail;
  return kernel_and_loops<RowGradCall>(
      kernel.levels(), [](RowGradCall& call) { run_rows_grad<float>(call, kernel.best()); },
      [](RowGradCall& call) { run_rows_grad<float>(call, loop_f32); },
      [](RowGradCall& call) { run_rows_grad<double>(call, loop_f64); },
      [](RowGradCall& call) { run_rows_grad_widened(call, kernel.best()); });
}

}  // namespace headroom::engine
