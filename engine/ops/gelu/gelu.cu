#include "engine/ops/gelu/gelu.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/device_op.h"

namespace headroom::engine::cuda {

void register_gelu() { register_device_op("gelu", {.unary = unary<Gelu>, .unary_grad = unary_grad<Gelu>}); }

}  // namespace headroom::engine::cuda
