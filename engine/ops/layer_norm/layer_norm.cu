#include "engine/ops/layer_norm/layer_norm.h"

#include "engine/ops/rows/norm_rows.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T>
void run(LayerNormCall& c) {
  norm_rows<true>("layer_norm", c.x, c.added, c.dropout, c.weight.data<T>(), c.bias.data_or_null<T>(), c.sum,
                  c.y.mutable_data<T>(), c.mean.mutable_data<Compute<T>>(), c.inv_std.mutable_data<Compute<T>>(),
                  c.eps);
}

template <class T>
void run_grad(LayerNormGradCall& c) {
  norm_grad_rows<true, T>("layer_norm_grad", {c.dy, c.x, c.weight, c.mean, c.inv_std, c.added, c.dx, c.want_parameters,
                                              c.dweight, c.dbias});
}

}  // namespace

void register_layer_norm() {
  add_kernels(layer_norm_op, "a team per row", run<float>, run<double>, run<bf16>);
  add_kernels(layer_norm_grad_op, "a team per row", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
