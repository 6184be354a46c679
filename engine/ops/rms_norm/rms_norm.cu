#include "engine/ops/rms_norm/rms_norm.h"

#include "engine/ops/rows/norm_rows.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T>
void run(RmsNormCall& c) {
  norm_rows<false, T>("rms_norm", c.x, c.added, c.weight.data<T>(), nullptr, c.sum, c.y.mutable_data<T>(), nullptr,
                      c.inv_rms.mutable_data<Compute<T>>(), c.eps);
}

template <class T>
void run_grad(RmsNormGradCall& c) {
  if (c.want_weight) c.dweight = Tensor::empty({c.x.dim(-1)}, c.x.dtype(), c.x.device());  // (C)
  norm_grad_rows<false, T>("rms_norm_grad", c.x, c.dy.data<T>(), c.weight.data<T>(), nullptr,
                           c.inv_rms.data<Compute<T>>(), c.added, c.want_dx ? c.dx.mutable_data<T>() : nullptr,
                           c.want_weight ? c.dweight.mutable_data<T>() : nullptr);
}

}  // namespace

void register_rms_norm() {
  add_kernels(rms_norm_op, "a team per row", run<float>, run<double>, run<bf16>);
  add_kernels(rms_norm_grad_op, "a team per row", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
