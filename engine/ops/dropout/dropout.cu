#include "engine/ops/dropout/dropout.h"

#include "engine/cuda/pack.cuh"
#include "engine/ops/dropout/dropping.cuh"

namespace headroom::engine::cuda {
namespace {

/// Packs of four, the words of one Philox counter.
template <class T>
struct DropoutElements {
  const T *x, *added;  ///< `added` may be null
  T* y;
  Dropping<T> dropping;

  template <int N>
  __device__ void run(int64_t i) const {
    Numbers<T, N> v;
    load_pack<N>(x + i, 1, v.at);
    dropping.apply(i, v);
    if (added) {
      Compute<T> more[N];
      load_pack<N>(added + i, 1, more);
      for (int k = 0; k < N; ++k) v.at[k] += more[k];
    }
    store_pack<N>(y + i, v.at);
  }
};

template <class T>
void run(DropoutCall& c) {
  const T* const added = c.added.data_or_null<T>();
  const DropoutElements<T> g{c.x.data<T>(), added, c.y.mutable_data<T>(), Dropping<T>(c.dropout)};
  launch_packs<4>(added ? "dropout_add" : "dropout", c.x.numel(),
                  is_aligned<4>(g.x) && is_aligned<4>(added) && is_aligned<4>(g.y), g);
}

}  // namespace

void register_dropout() { add_kernels(dropout_op, "packs", run<float>, run<double>, run<bf16>); }

}  // namespace headroom::engine::cuda
