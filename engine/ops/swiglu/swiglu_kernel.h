#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

HEADROOM_KERNEL(void, swiglu_forward, (const float* gate, const float* up, float* y, int64_t n), (gate, up, y, n))
/// dgate or dup may be null.
HEADROOM_KERNEL(void, swiglu_backward,
                (const float* dy, const float* gate, const float* up, float* dgate, float* dup, int64_t n),
                (dy, gate, up, dgate, dup, n))

}  // namespace headroom::engine
