#include "engine/ops/rms_norm/rms_norm.h"

#include "engine/ops/rows/norm_rows.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T>
void run(RmsNormCall& c) {
  norm_rows<false, T>("rms_norm", c.x, c.added, c.dropout, c.weight.data<T>(), nullptr, c.sum, c.y.mutable_data<T>(),
                      nullptr, c.inv_rms.mutable_data<Compute<T>>(), c.eps);
}

template <class T>
void run_grad(RmsNormGradCall& c) {
  Tensor no_mean, no_bias;
  norm_grad_rows<false, T>("rms_norm_grad",
                           {c.dy, c.x, c.weight, no_mean, c.inv_rms, c.added, c.dx, c.want_weight, c.dweight, no_bias});
}

}  // namespace

void register_rms_norm() {
  add_kernels(rms_norm_op, "a team per row", run<float>, run<double>, run<bf16>);
  add_kernels(rms_norm_grad_op, "a team per row", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
