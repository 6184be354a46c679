#pragma once
#include "engine/cuda/rows.cuh"
#include "engine/ops/rows/row_map.h"

// GPU kernels of ops that map rows of the last axis (engine/ops/rows/row_map.h).
namespace headroom::engine::cuda {

/// Runs Row<T, pack>{x, y, width, aligned} on every row.
template <template <class, int> class Row, class T>
void run_rows(RowCall& c) {
  const int64_t n = c.x.dim(-1);
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data<T>();
  with_pack<T>(n, [&](auto pack) {
    launch_rows("rows", c.x.numel() / n, n, Row<T, pack()>{x, y, n, are_aligned(x, y)});
  });
}

/// Runs Row<T, pack>{dy, y, dx, width, aligned} on every row.
template <template <class, int> class Row, class T>
void run_rows_grad(RowGradCall& c) {
  const int64_t n = c.y.dim(-1);
  const T *dy = c.dy.data<T>(), *y = c.y.data<T>();
  T* dx = c.dx.mutable_data<T>();
  with_pack<T>(n, [&](auto pack) {
    launch_rows("rows_grad", c.y.numel() / n, n, Row<T, pack()>{dy, y, dx, n, are_aligned(dy, y, dx)});
  });
}

template <template <class, int> class Row, template <class, int> class GradRow>
void add_row_op(RowOp& op) {
  add_kernels(op.forward, "a team per row", run_rows<Row, float>, run_rows<Row, double>, run_rows<Row, bf16>);
  add_kernels(op.grad, "a team per row", run_rows_grad<GradRow, float>, run_rows_grad<GradRow, double>,
              run_rows_grad<GradRow, bf16>);
}

}  // namespace headroom::engine::cuda
