#include "engine/ops/argmax/argmax.h"

#include "engine/ops/rows/extremum.cuh"

namespace headroom::engine::cuda {

void register_argmax() { add_extremum<std::greater<>>(argmax_op); }

}  // namespace headroom::engine::cuda
