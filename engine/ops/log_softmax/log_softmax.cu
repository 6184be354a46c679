#include "engine/ops/log_softmax/log_softmax.h"

#include "engine/ops/rows/softmax_rows.cuh"

namespace headroom::engine::cuda {
namespace {

struct LogSoftmax {
  template <class C>
  __device__ static C factor(C sum) {
    return std::log(sum);
  }
  template <class C>
  __device__ static C value(C x, C top, C factor) {
    return x - top - factor;
  }
  template <class C>
  __device__ static C term(C dy, C /*y*/) {
    return dy;
  }
  template <class C>
  __device__ static C slope(C dy, C y, C total) {
    return dy - std::exp(y) * total;
  }
};

}  // namespace

void register_log_softmax() { add_softmax<LogSoftmax>(log_softmax_op); }

}  // namespace headroom::engine::cuda
