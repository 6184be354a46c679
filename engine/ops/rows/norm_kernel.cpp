// Compiled once per instruction set: layer_norm and rms_norm, which differ only in the mean and the bias.
#include "engine/ops/rows/norm_kernel.h"

#include "engine/cpu/rows.h"
#include "engine/ops/rows/wide_moments.h"

namespace headroom::engine::HEADROOM_ISA {

/// y = (x - mean)/sqrt(variance + eps) · w + b, or with `centred` false y = x/sqrt(mean x² + eps) · w. b may be null.
/// Mean and variance take two sweeps, the second from cache. Rows whose squares leave f32's range are summed again in
/// f64: right for |x| up to 10^37.
template <bool centred>
static inline void norm_rows(const float* x, const float* w, const float* b, float* y, float* mean, float* inverse,
                             int64_t rows, int64_t n, float eps) {
  const auto width = static_cast<float>(n);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    Vec m(0.0f);
    if constexpr (centred) {
      mean[r] = sum_over(n, [&](int64_t i, auto at) { return at.load(x + i); }) / width;
      m = Vec(mean[r]);
    }
    const float squares = sum_over(n, [&](int64_t i, auto at) {
      const Vec d = at.load(x + i) - m;
      return at.keep(d * d);
    });
    inverse[r] = 1.0f / __builtin_sqrtf(squares / width + eps);
    if (!moments_are_safe(squares / width + eps)) {
      float wide_mean;
      wide_moments<double>(x, n, eps, centred, wide_mean, inverse[r]);
      if constexpr (centred) mean[r] = wide_mean, m = Vec(wide_mean);
    }
    const Vec s(inverse[r]);
    if (b)
      for_each_vec(n, [&](int64_t i, auto at) {
        at.store(y + i, fma((at.load(x + i) - m) * s, at.load(w + i), at.load(b + i)));
      });
    else for_each_vec(n, [&](int64_t i, auto at) { at.store(y + i, (at.load(x + i) - m) * s * at.load(w + i)); });
  }
}

/// The gradient of `count` rows: dx, with their share added to dw and db. dx, dw or db may be null. Several rows at a
/// time share the additions to dw and db.
template <bool centred, int count>
static inline void norm_grad_block(const float* dy, const float* x, const float* w, const float* mean,
                                   const float* inverse, float* dx, float* dw, float* db, int64_t n) {
  Vec m[count], s[count], g_sum[count], dot[count];
  for (int r = 0; r < count; ++r) {
    m[r] = Vec(centred ? mean[r] : 0.0f);
    s[r] = Vec(inverse[r]);
    g_sum[r] = dot[r] = Vec(0.0f);
  }
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec weight = at.load(w + i);
    Vec dw_i(0.0f), db_i(0.0f);
    for (int r = 0; r < count; ++r) {
      const Vec d = at.load(dy + r * n + i), normed = (at.load(x + r * n + i) - m[r]) * s[r], g = d * weight;
      if constexpr (centred) g_sum[r] += g;
      dot[r] = fma(g, normed, dot[r]);
      dw_i = fma(d, normed, dw_i);
      db_i += d;
    }
    if (dw) at.store(dw + i, at.load(dw + i) + dw_i);
    if (db) at.store(db + i, at.load(db + i) + db_i);
  });
  if (!dx) return;
  const auto width = static_cast<float>(n);
  for (int r = 0; r < count; ++r) {
    if (!(inverse[r] > 1e-15f && inverse[r] < 1e15f)) {  // s² is not a normal number
      const Vec g_mean(centred ? sum(g_sum[r]) / width : 0.0f), dot_mean(sum(dot[r]) / width);
      for_each_vec(n, [&](int64_t i, auto at) {
        const Vec g = at.load(dy + r * n + i) * at.load(w + i), normed = (at.load(x + r * n + i) - m[r]) * s[r];
        at.store(dx + r * n + i, (g - fma(normed, dot_mean, g_mean)) * s[r]);
      });
      continue;
    }
    // dx = s·g - (x - mean)·s²·mean(g·x̂) - s·mean(g), with the row's constants folded.
    const Vec k(-sum(dot[r]) / width * inverse[r] * inverse[r]);
    const Vec c(centred ? -sum(g_sum[r]) / width * inverse[r] : 0.0f);
    for_each_vec(n, [&](int64_t i, auto at) {
      const Vec g = at.load(dy + r * n + i) * at.load(w + i), d = at.load(x + r * n + i) - m[r];
      at.store(dx + r * n + i, fma(g, s[r], fma(d, k, c)));
    });
  }
}

/// The gradient of `rows` rows; dw and db are set, not added to.
template <bool centred>
static inline void norm_grad_rows(const float* dy, const float* x, const float* w, const float* mean,
                                  const float* inverse, float* dx, float* dw, float* db, int64_t rows, int64_t n) {
  for (float* to : {dw, db})
    if (to) for_each_vec(n, [&](int64_t i, auto at) { at.store(to + i, Vec(0.0f)); });
  constexpr int block = 4;
  int64_t r = 0;
  for (; r + block <= rows; r += block)
    norm_grad_block<centred, block>(dy + r * n, x + r * n, w, mean + r, inverse + r, dx ? dx + r * n : dx, dw, db, n);
  for (; r < rows; ++r)
    norm_grad_block<centred, 1>(dy + r * n, x + r * n, w, mean + r, inverse + r, dx ? dx + r * n : dx, dw, db, n);
}

void layer_norm_rows(const float* x, const float* weight, const float* bias, float* y, float* mean, float* inverse,
                     int64_t rows, int64_t n, float eps) {
  norm_rows<true>(x, weight, bias, y, mean, inverse, rows, n, eps);
}
void layer_norm_grad_rows(const float* dy, const float* x, const float* weight, const float* mean, const float* inverse,
                          float* dx, float* dweight, float* dbias, int64_t rows, int64_t n) {
  norm_grad_rows<true>(dy, x, weight, mean, inverse, dx, dweight, dbias, rows, n);
}

void rms_norm_rows(const float* x, const float* weight, const float* /*bias*/, float* y, float* /*mean*/,
                   float* inverse, int64_t rows, int64_t n, float eps) {
  norm_rows<false>(x, weight, nullptr, y, nullptr, inverse, rows, n, eps);
}
void rms_norm_grad_rows(const float* dy, const float* x, const float* weight, const float* /*mean*/,
                        const float* inverse, float* dx, float* dweight, float* /*dbias*/, int64_t rows, int64_t n) {
  norm_grad_rows<false>(dy, x, weight, nullptr, inverse, dx, dweight, nullptr, rows, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
