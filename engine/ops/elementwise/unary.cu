#include "engine/ops/elementwise/unary.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"

namespace headroom::engine::cuda {

void register_unary() {
#define HEADROOM_ADD(NAME, FUNCTOR) add_unary<FUNCTOR>(NAME##_op);
  HEADROOM_UNARY_OPS(HEADROOM_ADD)
#undef HEADROOM_ADD
}

}  // namespace headroom::engine::cuda
