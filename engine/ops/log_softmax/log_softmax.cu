#include "engine/ops/log_softmax/log_softmax.h"

#include "engine/cuda/exp_sum.cuh"
#include "engine/cuda/row_map.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T, int pack>
struct LogSoftmaxRow {
  const T* x;
  T* y;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const T* from = x + row * n;
    const ExpSum<C> total = exp_sum<pack>(team, from, n, aligned);
    const C log_total = std::log(total.sum);
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] = v.at[k] - total.top - log_total;
      store_numbers<pack>(y + row * n + i, v, aligned);
    });
  }
};

template <class T, int pack>
struct LogSoftmaxGradRow {
  const T *dy, *y;
  T* dx;
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const T *g = dy + row * n, *logs = y + row * n;
    C total = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(g + i, aligned);
      for (int k = 0; k < pack; ++k) total += a.at[k];
    });
    total = team.reduce(total, Add());
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> a = load_numbers<pack>(g + i, aligned);
      const Numbers<T, pack> b = load_numbers<pack>(logs + i, aligned);
      for (int k = 0; k < pack; ++k) a.at[k] -= std::exp(b.at[k]) * total;
      store_numbers<pack>(dx + row * n + i, a, aligned);
    });
  }
};

}  // namespace

void register_log_softmax() { add_row_op<LogSoftmaxRow, LogSoftmaxGradRow>(log_softmax_op); }

}  // namespace headroom::engine::cuda
