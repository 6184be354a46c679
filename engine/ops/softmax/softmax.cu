#include "engine/ops/softmax/softmax.h"

#include "engine/cuda/exp_sum.cuh"
#include "engine/cuda/row_map.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T, int pack>
struct SoftmaxRow {
  const T* x;
  T* y;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const T* from = x + row * n;
    T* to = y + row * n;
    const ExpSum<C> total = exp_sum<pack>(team, from, n, aligned);
    const C inverse = 1 / total.sum;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] = std::exp(v.at[k] - total.top) * inverse;
      store_numbers<pack>(to + i, v, aligned);
    });
  }
};

template <class T, int pack>
struct SoftmaxGradRow {
  const T *dy, *y;
  T* dx;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const T *g = dy + row * n, *p = y + row * n;
    C dot = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(g + i, aligned), b = load_numbers<pack>(p + i, aligned);
      for (int k = 0; k < pack; ++k) dot += a.at[k] * b.at[k];
    });
    dot = team.reduce(dot, Add());
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> a = load_numbers<pack>(g + i, aligned);
      const Numbers<T, pack> b = load_numbers<pack>(p + i, aligned);
      for (int k = 0; k < pack; ++k) a.at[k] = b.at[k] * (a.at[k] - dot);
      store_numbers<pack>(dx + row * n + i, a, aligned);
    });
  }
};

}  // namespace

void register_softmax() { add_row_op<SoftmaxRow, SoftmaxGradRow>(softmax_op); }

}  // namespace headroom::engine::cuda
