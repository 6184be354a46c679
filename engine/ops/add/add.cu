#include "engine/ops/add/add.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/device_op.h"

namespace headroom::engine::cuda {

void register_add() { register_device_op("add", {.binary = binary<Add>}); }

}  // namespace headroom::engine::cuda
