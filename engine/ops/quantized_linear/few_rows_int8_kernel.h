#pragma once
#include "engine/ops/quantized_linear/quantized_linear_kernel.h"

namespace headroom::engine {

/// Integer products within each 32 columns, which are exact, then f32. Formats in blocks only.
HEADROOM_KERNEL_VNNI(void, few_rows_int8, (const FewRows<ByteRows>& problem))

}  // namespace headroom::engine
