#include "engine/ops/min/min.h"

#include "engine/ops/rows/extremum.cuh"

namespace headroom::engine::cuda {

void register_min() {
  add_extremum<std::less<>>(min_op);
  add_extremum_grad(min_grad_op);
}

}  // namespace headroom::engine::cuda
