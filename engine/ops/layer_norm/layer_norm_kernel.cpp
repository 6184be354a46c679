#include "engine/ops/layer_norm/layer_norm_kernel.h"

#include "engine/ops/rows/norm_rows.h"

namespace headroom::engine::HEADROOM_ISA {

void layer_norm_rows(const float* x, const float* weight, const float* bias, float* y, float* mean, float* inv_std,
                     int64_t rows, int64_t n, float eps) {
  norm_rows<true>(x, weight, bias, y, mean, inv_std, rows, n, eps);
}

void layer_norm_grad_rows(const float* dy, const float* x, const float* weight, const float* mean, const float* inv_std,
                          float* dx, float* dweight, float* dbias, int64_t rows, int64_t n) {
  norm_grad_rows<true>(dy, x, weight, mean, inv_std, dx, dweight, dbias, rows, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
