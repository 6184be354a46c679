#include "engine/ops/layer_norm/layer_norm.h"

#include <cmath>

#include "engine/ops/layer_norm/layer_norm_kernel.h"
#include "engine/ops/row_sums.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loop(const T* x, const T* w, const T* b, T* y, T* mean, T* inv_std, int64_t rows, int64_t n, T eps) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    T total = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) total += x[i];
    mean[r] = total / static_cast<T>(n);
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean[r]) * (x[i] - mean[r]);
    inv_std[r] = 1 / std::sqrt(squares / static_cast<T>(n) + eps);
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[r]) * inv_std[r] * w[i] + (b ? b[i] : 0);
  }
}

template <class T>
void grad_loop(const T* dy, const T* x, const T* w, const T* mean, const T* inv_std, T* dx, T* dw, T* db, int64_t rows,
               int64_t n) {
  for (T* to : {dw, db})
    if (to) std::fill(to, to + n, T(0));
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
    T g_sum = 0, dot = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T normed = (x[i] - mean[r]) * inv_std[r];
      g_sum += dy[i] * w[i];
      dot += dy[i] * w[i] * normed;
      if (dw) dw[i] += dy[i] * normed;
      if (db) db[i] += dy[i];
    }
    if (!dx) continue;
    for (int64_t i = 0; i < n; ++i) {
      const T normed = (x[i] - mean[r]) * inv_std[r];
      dx[r * n + i] = (dy[i] * w[i] - (g_sum + normed * dot) / static_cast<T>(n)) * inv_std[r];
    }
  }
}

}  // namespace

LayerNorm layer_norm(const Tensor& x_in, const Tensor& w_in, const Tensor& b_in, double eps) {
  check_floating("layer_norm", {&x_in, &w_in, b_in.defined() ? &b_in : &x_in});
  const Rows rows = rows_of("layer_norm", x_in);
  check_width("layer_norm", "weight", w_in, x_in);
  if (b_in.defined()) check_width("layer_norm", "bias", b_in, x_in);
  const Tensor x = x_in.contiguous(), w = w_in.contiguous(), b = b_in.defined() ? b_in.contiguous() : b_in;
  LayerNorm out{Tensor::empty(x.shape(), x.dtype()), Tensor::empty(x.shape().without(-1), x.dtype()),  // (…, C), (…)
                Tensor::empty(x.shape().without(-1), x.dtype())};                                      // (…)
  if (x.numel() == 0) return out;
  visit_real("layer_norm", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      const T *px = x.data<T>() + begin * rows.width, *pw = w.data<T>(), *pb = b.defined() ? b.data<T>() : nullptr;
      T *y = out.y.mutable_data<T>() + begin * rows.width, *mean = out.mean.mutable_data<T>() + begin;
      T* inv_std = out.inv_std.mutable_data<T>() + begin;
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only())
          return kernel::layer_norm_rows(px, pw, pb, y, mean, inv_std, end - begin, rows.width, float(eps));
      forward_loop(px, pw, pb, y, mean, inv_std, end - begin, rows.width, T(eps));
    });
  });
  return out;
}

LayerNormGrad layer_norm_grad(const Tensor& dy_in, const Tensor& x_in, const Tensor& w_in, const Tensor& mean,
                              const Tensor& inv_std, bool want_dx, bool want_parameters) {
  const Tensor dy = dy_in.contiguous(), x = x_in.contiguous(), w = w_in.contiguous();
  const Rows rows = rows_of("layer_norm", x);
  const int64_t n = rows.width;
  LayerNormGrad out;
  if (want_dx) out.dx = Tensor::empty(x.shape(), x.dtype());  // (…, C)
  if (x.numel() == 0) {
    if (want_parameters) out.dweight = out.dbias = Tensor::zeros({n}, x.dtype());
    return out;
  }
  const Tensor total = sum_over_rows(
      "layer_norm", x, rows, want_parameters ? 2 : 0, [&](int64_t begin, int64_t count, auto* dw) {  // (2, C)
        using T = std::remove_pointer_t<decltype(dw)>;
        const T *pdy = dy.data<T>() + begin * n, *px = x.data<T>() + begin * n, *pw = w.data<T>();
        const T *pm = mean.data<T>() + begin, *ps = inv_std.data<T>() + begin;
        T* dx = want_dx ? out.dx.mutable_data<T>() + begin * n : nullptr;
        T* db = dw ? dw + n : nullptr;
        if constexpr (std::is_same_v<T, float>)
          if (!reference_only()) return kernel::layer_norm_grad_rows(pdy, px, pw, pm, ps, dx, dw, db, count, n);
        grad_loop(pdy, px, pw, pm, ps, dx, dw, db, count, n);
      });
  if (want_parameters) {
    out.dweight = total.slice(0, 0, 1).reshape({n});
    out.dbias = total.slice(0, 1, 2).reshape({n});
  }
  return out;
}

}  // namespace headroom::engine
