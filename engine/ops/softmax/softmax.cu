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
template <class T, int pack>
using SoftmaxRow = SoftmaxRows<Softmax, T, pack>;
template <class T, int pack>
using SoftmaxGradRow = SoftmaxGradRows<Softmax, T, pack>;

}  // namespace

void register_softmax() { add_row_op<SoftmaxRow, SoftmaxGradRow>(softmax_op); }

}  // namespace headroom::engine::cuda
