#pragma once
#include "engine/cuda/exp_sum.cuh"
#include "engine/ops/rows/row_map.h"

// Rows of softmax and of its logarithm, which differ in four formulas of an `F`:
//
//     C factor(C sum)                       of Σ e^(x - top): what each element takes
//     C value(C x, C top, C factor)         y
//     C term(C dy, C y)                     what the gradient sums over the row
//     C slope(C dy, C y, C total)           dx
namespace headroom::engine::cuda {

template <class F, class T, int pack>
struct SoftmaxRows {
  const T* x;
  T* y;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const T* from = x + row * n;
    const ExpSum<C> total = exp_sum<pack>(team, from, n, aligned);
    const C factor = F::factor(total.sum);
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] = F::value(v.at[k], total.top, factor);
      store_numbers<pack>(y + row * n + i, v, aligned);
    });
  }
};

template <class F, class T, int pack>
struct SoftmaxGradRows {
  const T *dy, *y;
  T* dx;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const T *g = dy + row * n, *known = y + row * n;
    Compute<T> total = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(g + i, aligned), b = load_numbers<pack>(known + i, aligned);
      for (int k = 0; k < pack; ++k) total += F::term(a.at[k], b.at[k]);
    });
    total = team.reduce(total, Add());
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> a = load_numbers<pack>(g + i, aligned);
      const Numbers<T, pack> b = load_numbers<pack>(known + i, aligned);
      for (int k = 0; k < pack; ++k) a.at[k] = F::slope(a.at[k], b.at[k], total);
      store_numbers<pack>(dx + row * n + i, a, aligned);
    });
  }
};

template <class F, class T>
void run_softmax(RowCall& c) {
  const int64_t n = c.x.dim(-1);
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data<T>();
  with_pack<T>(n, [&](auto pack) {
    launch_rows("rows", c.x.numel() / n, n, SoftmaxRows<F, T, pack()>{x, y, n, are_aligned(x, y)});
  });
}

template <class F, class T>
void run_softmax_grad(RowGradCall& c) {
  const int64_t n = c.y.dim(-1);
  const T *dy = c.dy.data<T>(), *y = c.y.data<T>();
  T* dx = c.dx.mutable_data<T>();
  with_pack<T>(n, [&](auto pack) {
    launch_rows("rows_grad", c.y.numel() / n, n, SoftmaxGradRows<F, T, pack()>{dy, y, dx, n, are_aligned(dy, y, dx)});
  });
}

template <class F>
void add_softmax(RowOp& op) {
  add_kernels(op.forward, "a team per row", run_softmax<F, float>, run_softmax<F, double>, run_softmax<F, bf16>);
  add_kernels(op.grad, "a team per row", run_softmax_grad<F, float>, run_softmax_grad<F, double>,
              run_softmax_grad<F, bf16>);
}

}  // namespace headroom::engine::cuda
