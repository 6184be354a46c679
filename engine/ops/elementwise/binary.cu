#include "engine/ops/elementwise/binary.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/elementwise/arithmetic.h"

namespace headroom::engine::cuda {

void register_binary() {
#define HEADROOM_ADD(NAME, FUNCTOR) add_binary<FUNCTOR>(NAME##_op);
  HEADROOM_BINARY_OPS(HEADROOM_ADD)
#undef HEADROOM_ADD
#define HEADROOM_ADD(NAME, FUNCTOR) add_binary_grad<FUNCTOR>(NAME##_grad_op);
  HEADROOM_SLOPED_OPS(HEADROOM_ADD)
#undef HEADROOM_ADD
}

}  // namespace headroom::engine::cuda
