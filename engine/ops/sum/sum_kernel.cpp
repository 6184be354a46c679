#include "engine/ops/sum/sum_kernel.h"

#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {

float sum_run(const float* x, int64_t n) {
  Vec a(0.0f), b(0.0f);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a += load(x + i);
    b += load(x + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) a += load(x + i);
  if (i < n) b += load_first(x + i, n - i);
  return sum(a + b);
}

void sum_columns(const float* x, float* y, int64_t rows, int64_t n) {
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    Vec a(0.0f), b(0.0f);
    for (int64_t i = 0; i < rows; ++i) {
      a += load(x + i * n + j);
      b += load(x + i * n + j + lanes);
    }
    store(y + j, a);
    store(y + j + lanes, b);
  }
  for (; j < n; j += lanes) {
    const int64_t m = n - j < lanes ? n - j : lanes;
    Vec a(0.0f);
    for (int64_t i = 0; i < rows; ++i) a += load_first(x + i * n + j, m);
    store_first(y + j, a, m);
  }
}

float sum_run_bf16(const uint16_t* x, int64_t n) {
  Vec a(0.0f), b(0.0f);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a += load_bf16(x + i);
    b += load_bf16(x + i + lanes);
  }
  for (; i < n; i += lanes) a += n - i < lanes ? load_bf16_first(x + i, n - i) : load_bf16(x + i);
  return sum(a + b);
}

void sum_columns_bf16(const uint16_t* x, float* y, int64_t rows, int64_t n) {
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    Vec a(0.0f), b(0.0f);
    for (int64_t i = 0; i < rows; ++i) {
      a += load_bf16(x + i * n + j);
      b += load_bf16(x + i * n + j + lanes);
    }
    store(y + j, a);
    store(y + j + lanes, b);
  }
  for (; j < n; j += lanes) {
    const int64_t m = n - j < lanes ? n - j : lanes;
    Vec a(0.0f);
    for (int64_t i = 0; i < rows; ++i) a += load_bf16_first(x + i * n + j, m);
    store_first(y + j, a, m);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
