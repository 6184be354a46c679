#pragma once
#include "engine/cuda/exp_sum.cuh"
#include "engine/ops/rows/row_map.cuh"

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

}  // namespace headroom::engine::cuda
