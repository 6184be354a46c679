#include "engine/optim/update_kernel.h"

#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {
namespace {

struct Adam {
  Vec p, m, v;
};

inline Adam adam_step(Vec p, Vec g, Vec m, Vec v, const AdamConstants& c) {
  g = g * Vec(c.gradient_factor);
  g = fma(Vec(c.l2), p, g);
  p = p * Vec(c.keep);
  m = fma(Vec(c.one_minus_beta1), g - m, m);
  v = fma(Vec(c.one_minus_beta2) * g, g, v * Vec(c.beta2));
  const Vec denominator = fma(sqrt(v), Vec(c.inverse_root), Vec(c.eps));
  return {p - Vec(c.step_size) * m / denominator, m, v};
}

/// One loop for both: `copy` is null where `has_copy` is false.
template <bool has_copy>
void adam_loop(float* p, const float* g, float* m, float* v, uint16_t* copy, int64_t n, const AdamConstants& c) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Adam next = adam_step(load(p + i), load(g + i), load(m + i), load(v + i), c);
    store(p + i, next.p);
    store(m + i, next.m);
    store(v + i, next.v);
    if constexpr (has_copy) store_bf16(copy + i, next.p);
  }
  if (const int64_t k = n - i; k > 0) {
    const Adam next =
        adam_step(load_first(p + i, k), load_first(g + i, k), load_first(m + i, k), load_first(v + i, k), c);
    store_first(p + i, next.p, k);
    store_first(m + i, next.m, k);
    store_first(v + i, next.v, k);
    if constexpr (has_copy) store_bf16_first(copy + i, next.p, k);
  }
}

}  // namespace

void adam_run(float* p, const float* g, float* m, float* v, int64_t n, const AdamConstants& c) {
  adam_loop<false>(p, g, m, v, nullptr, n, c);
}

void adam_bf16_run(float* p, const float* g, float* m, float* v, uint16_t* copy, int64_t n, const AdamConstants& c) {
  adam_loop<true>(p, g, m, v, copy, n, c);
}

double square_sum_run(const float* x, int64_t n) {
  Vec a(0.0f), b(0.0f);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const Vec left = load(x + i), right = load(x + i + lanes);
    a = fma(left, left, a);
    b = fma(right, right, b);
  }
  for (; i < n; i += lanes) {
    const Vec last = n - i < lanes ? load_first(x + i, n - i) : load(x + i);
    a = fma(last, last, a);
  }
  return static_cast<double>(sum(a + b));
}

}  // namespace headroom::engine::HEADROOM_ISA
