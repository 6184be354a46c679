#pragma once
#include "engine/cuda/columns.cuh"
#include "engine/cuda/rows.cuh"

namespace headroom::engine::cuda {

/// One result: adds its terms in order.
template <class From, class To>
struct SumElement {
  const From* x;
  To* y;
  int64_t reduced, inner;
  __device__ void operator()(int64_t i) const {
    const From* from = x + i / inner * reduced * inner + i % inner;
    Compute<From> total = 0;
    for (int64_t k = 0; k < reduced; ++k) total += load(from[k * inner]);
    store(y[i], static_cast<Compute<To>>(total));
  }
};

/// One chunk of a row; a row's last may be shorter.
template <class From, class To, int pack>
struct SumRow {
  const From* x;
  To* y;
  int64_t width, chunk, chunks;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t task) const {
    const int64_t first = task % chunks * chunk, n = width - first < chunk ? width - first : chunk;
    const From* from = x + task / chunks * width + first;
    Compute<From> total = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<From, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) total += v.at[k];
    });
    total = team.reduce(total, Add());
    if (team.index() == 0) store(y[task], static_cast<Compute<To>>(total));
  }
};

/// y (outer, inner) = Σ of x (outer, reduced, inner) over its middle axis, added in Compute<From>. If there are few
/// results, several blocks share one: their sums go to memory and are added in order. Does nothing for an empty y.
template <class From, class To>
void sum_into(const From* x, To* y, int64_t outer, int64_t reduced, int64_t inner, Device device) {
  using C = Compute<From>;
  constexpr int64_t few = 16, enough_rows = 512, most_of_a_block = 1 << 13;
  if (reduced <= few) {
    launch("sum", outer * inner, SumElement<From, To>{x, y, reduced, inner});
  } else if (inner > 1) {
    add_columns<1, C>("sum", outer, reduced, inner, ColumnValue<From>{x, inner}, y, device);
  } else {
    const int64_t chunk = outer >= enough_rows ? reduced : std::min(reduced, most_of_a_block);
    const int64_t chunks = (reduced + chunk - 1) / chunk;
    Tensor partial;
    if (chunks > 1) partial = Tensor::empty({outer, chunks}, dtype_of<C>(), device);
    with_pack<From>(reduced, [&](auto pack) {
      const bool aligned = are_aligned(x);
      if (chunks == 1) launch_rows("sum", outer, chunk, SumRow<From, To, pack()>{x, y, reduced, chunk, 1, aligned});
      else
        launch_rows("sum", outer * chunks, chunk,
                    SumRow<From, C, pack()>{x, partial.mutable_data<C>(), reduced, chunk, chunks, aligned});
    });
    if (chunks > 1) sum_into(partial.data<C>(), y, outer, chunks, 1, device);
  }
}

}  // namespace headroom::engine::cuda
