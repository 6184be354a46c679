#include "engine/ops/max/max.h"

#include "engine/ops/rows/extremum.cuh"

namespace headroom::engine::cuda {

void register_max() {
  add_extremum<std::greater<>>(max_op);
  add_extremum_grad(max_grad_op);
}

}  // namespace headroom::engine::cuda
