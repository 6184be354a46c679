#pragma once
#include "engine/ops/quantized_linear/quantized_linear_kernel.h"

namespace headroom::engine {

/// Exact integer products within each 32 columns, then f32. Formats in blocks only.
HEADROOM_KERNEL_VNNI(void, few_rows_int8, (const FewRows<ByteRows>& problem))

/// Bytes of scratch, 64-byte aligned, that integer_tiles needs per 32 columns.
inline constexpr int64_t integer_tiles_scratch = 1664;

#ifdef __x86_64__
namespace avx512_bf16 {
void integer_tiles(const FewRows<ByteRows>& problem, uint8_t* scratch);
}
#endif

namespace kernel {
/// Rows of W times many rows of x, whose values are the activations plus 128, unsigned. For each 32 columns in order,
/// multiplies the exact integer product by both scales and adds it in f32; for formats with a minimum, also its product
/// with the activations' sum. Only if has_bf16_pairs(): by `vpdpbusd`.
inline constexpr Kernel<void(const FewRows<ByteRows>&, uint8_t*)> integer_tiles{
    .portable = nullptr,
#ifdef __x86_64__
    .avx512_bf16 = avx512_bf16::integer_tiles
#endif
};
}  // namespace kernel

}  // namespace headroom::engine
