#include "engine/cpu/halves_kernel.h"

#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {

void widen_run(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, load_bf16(x + i));
  if (i < n) store_first(y + i, load_bf16_first(x + i, n - i), n - i);
}

void narrow_run(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_bf16(y + i, load(x + i));
  if (i < n) store_bf16_first(y + i, load_first(x + i, n - i), n - i);
}

/// Rows narrower than a vector go by elements.
void widen_rows(const uint16_t* x, int64_t stride, int64_t rows, int64_t n, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += stride, y += n) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(y + i, load_bf16(x + i));
    for (; i < n; ++i) {
      const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
      std::memcpy(y + i, &bits, sizeof(bits));
    }
  }
}

void narrow_rows(const float* x, uint16_t* y, int64_t stride, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += stride) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store_bf16(y + i, load(x + i));
    if (i < n) store_bf16_first(y + i, load_first(x + i, n - i), n - i);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
