#include "engine/ops/rms_norm/rms_norm_kernel.h"

#include "engine/ops/rows/norm_rows.h"

namespace headroom::engine::HEADROOM_ISA {

void rms_norm_rows(const float* x, const float* weight, float* y, float* inv_rms, int64_t rows, int64_t n, float eps) {
  norm_rows<false>(x, weight, nullptr, y, nullptr, inv_rms, rows, n, eps);
}

void rms_norm_grad_rows(const float* dy, const float* x, const float* weight, const float* inv_rms, float* dx,
                        float* dweight, int64_t rows, int64_t n) {
  norm_grad_rows<false>(dy, x, weight, nullptr, inv_rms, dx, dweight, nullptr, rows, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
