#include "engine/ops/softmax/softmax.h"

#include "engine/ops/rows/softmax_rows.cuh"

namespace headroom::engine::cuda {
namespace {

struct Softmax {
  template <class C>
  __device__ static C factor(C sum) {
    return 1 / sum;
  }
  template <class C>
  __device__ static C value(C x, C top, C factor) {
    return std::exp(x - top) * factor;
  }
  template <class C>
  __device__ static C term(C dy, C y) {
    return dy * y;
  }
  template <class C>
  __device__ static C slope(C dy, C y, C total) {
    return y * (dy - total);
  }
};

}  // namespace

void register_softmax() { add_softmax<Softmax>(softmax_op); }

}  // namespace headroom::engine::cuda
