#include "engine/ops/elementwise/comparison.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/elementwise/comparisons.h"

namespace headroom::engine::cuda {
namespace {

template <class F>
void run(BinaryCall& c) {
  visit_dtype(c.a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    map<bool, T, T>("comparison", Forward<F>(), c.y, c.a, c.b);
  });
}

}  // namespace

void register_comparison() {
#define HEADROOM_ADD(NAME, FUNCTOR) add_strided_kernel(NAME##_op, "packs", every_dtype, run<FUNCTOR>);
  HEADROOM_COMPARISONS(HEADROOM_ADD)
#undef HEADROOM_ADD
}

}  // namespace headroom::engine::cuda
