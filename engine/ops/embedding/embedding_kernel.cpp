#include "engine/ops/embedding/embedding_kernel.h"

#include "engine/cpu/rows.h"
#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {

void add_listed_rows(const float* x, int64_t stride, const int64_t* rows, int64_t count, float* out, int64_t n) {
  // Eight sums at a time stay in registers while the rows go by.
  constexpr int block = 8;
  int64_t j = 0;
  for (; j + block * lanes <= n; j += block * lanes) {
    Vec total[block];
    for (Vec& t : total) t = Vec(0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const float* row = x + rows[k] * stride + j;
      for (int b = 0; b < block; ++b) total[b] += load(row + b * lanes);
    }
    for (int b = 0; b < block; ++b) store(out + j + b * lanes, total[b]);
  }
  for_each_vec(n - j, [&](int64_t i, auto at) {
    Vec total(0.0f);
    for (int64_t k = 0; k < count; ++k) total += at.load(x + rows[k] * stride + j + i);
    at.store(out + j + i, total);
  });
}

void add_listed_rows_bf16(const uint16_t* x, int64_t stride, const int64_t* rows, int64_t count, uint16_t* out,
                          int64_t n) {
  constexpr int block = 8;
  int64_t j = 0;
  for (; j + block * lanes <= n; j += block * lanes) {
    Vec total[block];
    for (Vec& t : total) t = Vec(0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const uint16_t* row = x + rows[k] * stride + j;
      for (int b = 0; b < block; ++b) total[b] += load_bf16(row + b * lanes);
    }
    for (int b = 0; b < block; ++b) store_bf16(out + j + b * lanes, total[b]);
  }
  for (; j < n; j += lanes) {
    const int64_t m = n - j < lanes ? n - j : lanes;
    Vec total(0.0f);
    for (int64_t k = 0; k < count; ++k) total += load_bf16_first(x + rows[k] * stride + j, m);
    store_bf16_first(out + j, total, m);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
