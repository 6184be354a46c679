#include "engine/ops/argmin/argmin.h"

#include "engine/ops/rows/extremum.cuh"

namespace headroom::engine::cuda {

void register_argmin() { add_extremum<std::less<>>(argmin_op); }

}  // namespace headroom::engine::cuda
