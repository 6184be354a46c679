#include "engine/ops/rope/rope_kernel.h"

#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

/// y[0, n) = x·cosine + partner·sine.
static void rotate(const float* x, const float* partner, float* y, const float* cosine, const float* sine, int64_t n) {
  int64_t e = 0;
  for (; e + lanes <= n; e += lanes)
    store(y + e, fma(load(x + e), load(cosine + e), load(partner + e) * load(sine + e)));
  if (e < n) {
    const int64_t m = n - e;
    const Vec turned = load_first(partner + e, m) * load_first(sine + e, m);
    store_first(y + e, fma(load_first(x + e, m), load_first(cosine + e, m), turned), m);
  }
}

void rope_rows(const float* x, float* y, const float* cosine, const float* sine, int64_t rows, int64_t dim,
               bool interleaved) {
  const int64_t half = dim / 2;
  for (int64_t row = 0; row < rows; ++row, x += dim, y += dim) {
    if (!interleaved) {
      rotate(x, x + half, y, cosine, sine, half);
      rotate(x + half, x, y + half, cosine + half, sine + half, half);
      continue;
    }
    for (int64_t e = 0; e < dim; e += lanes) {
      const int64_t m = dim - e < lanes ? dim - e : lanes;
      const Vec own = load_first(x + e, m);
      Vec partner;
      for (int i = 0; i < lanes; ++i) partner.v[i] = own.v[i ^ 1];
      store_first(y + e, fma(own, load_first(cosine + e, m), partner * load_first(sine + e, m)), m);
    }
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
