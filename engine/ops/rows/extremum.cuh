#pragma once
#include <cstdint>
#include <functional>

#include "engine/cuda/rows.cuh"
#include "engine/ops/rows/extremum.h"

// GPU kernels of max, min, argmax and argmin.
namespace headroom::engine::cuda {

/// Takes whichever comes before the other; a NaN comes before all.
template <class Before>
struct First {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return Before()(a, b) || a != a ? a : b;
  }
};

/// The first extremum of a chunk of one row and its place in the row; a row's last chunk may be shorter. `places`,
/// unless null, are x's elements' places in a longer row.
template <class T, class Before>
struct ExtremumRow {
  const T* x;
  const int64_t* places;
  T* y;  ///< may be null
  int64_t* index;
  int64_t width, chunk, chunks;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t task) const {
    using C = Compute<T>;
    const int64_t row = task / chunks * width, first = task % chunks * chunk;
    const int64_t n = width - first < chunk ? width - first : chunk;
    const T* from = x + row + first;
    int64_t at = team.index() < n ? team.index() : 0;
    C best = load(from[at]);
    for (int64_t i = at + team.size(); i < n; i += team.size()) {
      const C v = load(from[i]);
      if (best == best && (Before()(v, best) || v != v)) best = v, at = i;
    }
    const C all = team.reduce(best, First<Before>());
    const bool is_it = best == all || (best != best && all != all);
    at = team.reduce(is_it ? at : INT64_MAX, Smaller());
    if (team.index() != 0) return;
    index[task] = places ? places[row + first + at] : first + at;
    if (y) y[task] = from[at];
  }
};

template <class T, class Before>
void run_extremum(ExtremumCall& c) {
  constexpr int64_t enough_rows = 512, most_of_a_block = 1 << 13;
  const int64_t outer = c.x.dim(0);
  int64_t width = c.x.dim(1);
  const T* x = c.x.data<T>();
  const int64_t* places = nullptr;
  Tensor kept_values, kept_places;  // (outer, chunks) of the previous round
  while (outer < enough_rows && width > most_of_a_block) {
    const int64_t chunks = (width + most_of_a_block - 1) / most_of_a_block;
    const Tensor values = Tensor::empty({outer, chunks}, dtype_of<T>(), c.x.device());
    const Tensor found = Tensor::empty({outer, chunks}, DType::i64, c.x.device());
    launch_rows("extremum", outer * chunks, most_of_a_block,
                ExtremumRow<T, Before>{x, places, values.mutable_data<T>(), found.mutable_data<int64_t>(), width,
                                       most_of_a_block, chunks});
    kept_values = values, kept_places = found;
    x = values.data<T>(), places = found.data<int64_t>(), width = chunks;
  }
  launch_rows("extremum", outer, width,
              ExtremumRow<T, Before>{x, places, c.y.mutable_data_or_null<T>(), c.index.mutable_data<int64_t>(), width,
                                     width, 1});
}

template <class T>
struct ExtremumGradElement {
  const T* dy;
  const int64_t* index;
  T* dx;
  int64_t reduced;
  __device__ void operator()(int64_t i) const {
    if (index[i] >= 0 && index[i] < reduced) dx[i * reduced + index[i]] = dy[i];
  }
};

template <class T>
void run_extremum_grad(ExtremumGradCall& c) {
  launch("extremum_grad", c.dx.dim(0),
         ExtremumGradElement<T>{c.dy.data<T>(), c.index.data<int64_t>(), c.dx.mutable_data<T>(), c.dx.dim(1)});
}

template <class Before>
void add_extremum(ExtremumOp& op) {
  add_kernels(op, "a team per row", run_extremum<float, Before>, run_extremum<double, Before>,
              run_extremum<bf16, Before>);
}
inline void add_extremum_grad(ExtremumGradOp& op) {
  add_kernels(op, "element by element", run_extremum_grad<float>, run_extremum_grad<double>, run_extremum_grad<bf16>);
}

}  // namespace headroom::engine::cuda
