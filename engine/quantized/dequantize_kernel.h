#pragma once
#include "engine/kernel.h"
#include "engine/quantized/format.h"

namespace headroom::engine {

/// Unpacks `count` consecutive blocks: dequantize() of block_format.h.
HEADROOM_KERNEL_AVX512(void, dequantize_blocks,
                       (BlockFormat format, const uint8_t* blocks, int64_t count, float* values))

}  // namespace headroom::engine
