#include "engine/ops/pow/pow.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/pow/pow_functor.h"

namespace headroom::engine::cuda {

void register_pow() {
  add_binary<Pow>(pow_op);
  add_binary_grad<Pow>(pow_grad_op);
}

}  // namespace headroom::engine::cuda
