#include "engine/sequences/hidden_pairs.h"

#include "engine/cuda/launch.cuh"

namespace headroom::engine::cuda {
namespace {

struct HiddenPair {
  bool* y;
  const bool* kept;  ///< (B, Tk) or null
  int64_t queries, keys, window;
  bool causal;

  __device__ void operator()(int64_t n) const {
    const int64_t j = n % keys, i = n / keys % queries, b = n / keys / queries;
    const int64_t at = i + keys - queries;
    y[n] = (kept && !kept[b * keys + j]) || (causal && j > at) || (window > 0 && j <= at - window);
  }
};

void run(HiddenPairsCall& c) {
  launch("hidden_pairs", c.y.numel(),
         HiddenPair{c.y.mutable_data<bool>(), c.key_mask.data_or_null<bool>(), c.y.dim(1), c.y.dim(2), c.window,
                    c.causal});
}

}  // namespace

void register_hidden_pairs() { add_kernel(hidden_pairs_op, "elements", DType::boolean, run); }

}  // namespace headroom::engine::cuda
