#include "engine/ops/sum_squares/sum_squares.h"

#include "engine/cuda/rows.cuh"
#include "engine/ops/sum_squares/sum_squares_functor.h"

namespace headroom::engine::cuda {
namespace {

/// A row, by the warp or the block that shares it.
template <class T>
struct SumSquaresRow {
  const T* x;
  T* y;
  int64_t n;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    Compute<T> total = 0;
    for_each_pack<1>(team, n, [&](int64_t i) { total += SumSquares::f(load(x[row * n + i])); });
    total = team.reduce(total, Add());  // the threads' sums, in a fixed order
    if (team.index() == 0) store(y[row], total);
  }
};

template <class T>
struct SumSquaresSlope {
  const T *dy, *x;
  T* dx;
  int64_t n;
  __device__ void operator()(int64_t i) const { store(dx[i], load(dy[i / n]) * SumSquares::df(load(x[i]))); }
};

template <class T>
void run(SumSquaresCall& c) {
  const int64_t n = c.x.dim(-1);
  launch_rows("sum_squares", c.y.numel(), n, SumSquaresRow<T>{c.x.data<T>(), c.y.mutable_data<T>(), n});
}
template <class T>
void run_grad(SumSquaresGradCall& c) {
  launch("sum_squares_grad", c.dx.numel(),
         SumSquaresSlope<T>{c.dy.data<T>(), c.x.data<T>(), c.dx.mutable_data<T>(), c.x.dim(-1)});
}

}  // namespace

void register_sum_squares() {
  add_kernels(sum_squares_op, "a team per row", run<float>, run<double>, run<bf16>);
  add_kernels(sum_squares_grad_op, "a thread per element", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
