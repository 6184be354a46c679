#include "engine/ops/rms_norm/rms_norm.h"

#include <cmath>

#include "engine/ops/rms_norm/rms_norm_kernel.h"
#include "engine/ops/row_sums.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loop(const T* x, const T* w, T* y, T* inv_rms, int64_t rows, int64_t n, T eps) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    T squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
    inv_rms[r] = 1 / std::sqrt(squares / static_cast<T>(n) + eps);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * inv_rms[r] * w[i];
  }
}

template <class T>
void grad_loop(const T* dy, const T* x, const T* w, const T* inv_rms, T* dx, T* dw, int64_t rows, int64_t n) {
  if (dw) std::fill(dw, dw + n, T(0));
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
    T dot = 0;
    for (int64_t i = 0; i < n; ++i) {
      dot += dy[i] * w[i] * x[i] * inv_rms[r];
      if (dw) dw[i] += dy[i] * x[i] * inv_rms[r];
    }
    if (!dx) continue;
    for (int64_t i = 0; i < n; ++i)
      dx[r * n + i] = (dy[i] * w[i] - x[i] * inv_rms[r] * dot / static_cast<T>(n)) * inv_rms[r];
  }
}

}  // namespace

RmsNorm rms_norm(const Tensor& x_in, const Tensor& w_in, double eps) {
  check_floating("rms_norm", {&x_in, &w_in});
  const Rows rows = rows_of("rms_norm", x_in);
  check_width("rms_norm", "weight", w_in, x_in);
  const Tensor x = x_in.contiguous(), w = w_in.contiguous();
  RmsNorm out{Tensor::empty(x.shape(), x.dtype()), Tensor::empty(x.shape().without(-1), x.dtype())};  // (…, C), (…)
  if (x.numel() == 0) return out;
  visit_real("rms_norm", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const T *px = x.data<T>() + begin * rows.width, *pw = w.data<T>();
      T *y = out.y.mutable_data<T>() + begin * rows.width, *inv_rms = out.inv_rms.mutable_data<T>() + begin;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only()) return kernel::rms_norm_rows(px, pw, y, inv_rms, end - begin, rows.width, float(eps));
      forward_loop(px, pw, y, inv_rms, end - begin, rows.width, T(eps));
    });
  });
  return out;
}

RmsNormGrad rms_norm_grad(const Tensor& dy_in, const Tensor& x_in, const Tensor& w_in, const Tensor& inv_rms,
                          bool want_dx, bool want_weight) {
  const Tensor dy = dy_in.contiguous(), x = x_in.contiguous(), w = w_in.contiguous();
  const Rows rows = rows_of("rms_norm", x);
  const int64_t n = rows.width;
  RmsNormGrad out;
  if (want_dx) out.dx = Tensor::empty(x.shape(), x.dtype());  // (…, C)
  if (x.numel() == 0) {
    if (want_weight) out.dweight = Tensor::zeros({n}, x.dtype());
    return out;
  }
  const Tensor total =
      sum_over_rows("rms_norm", x, rows, want_weight ? 1 : 0, [&](int64_t begin, int64_t count, auto* dw) {  // (1, C)
        using T = std::remove_pointer_t<decltype(dw)>;
        const T *pdy = dy.data<T>() + begin * n, *px = x.data<T>() + begin * n, *pw = w.data<T>();
        const T* ps = inv_rms.data<T>() + begin;
        T* dx = want_dx ? out.dx.mutable_data<T>() + begin * n : nullptr;
        if constexpr (std::is_same_v<T, float>)
          if (!reference_only()) return kernel::rms_norm_grad_rows(pdy, px, pw, ps, dx, dw, count, n);
        grad_loop(pdy, px, pw, ps, dx, dw, count, n);
      });
  if (want_weight) out.dweight = total.reshape({n});
  return out;
}

}  // namespace headroom::engine
