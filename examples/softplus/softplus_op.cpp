#include "softplus_op.h"

#include "engine/elementwise/elementwise.h"
#include "engine/elementwise/reference.h"
#include "softplus.h"
#include "softplus_kernel.h"

namespace headroom {
namespace {

using engine::Softplus;

// The reference loops (f32 and f64) define the op; kernel::… is the fast f32 path of the CPU at hand.
constexpr engine::UnaryKernels kernels{"softplus",
                                       engine::kernel::softplus_forward,
                                       engine::kernel::softplus_backward,
                                       engine::unary_forward_loop<Softplus, float>,
                                       engine::unary_grad_loop<Softplus, float>,
                                       engine::unary_forward_loop<Softplus, double>,
                                       engine::unary_grad_loop<Softplus, double>};

}  // namespace

namespace autograd {

Var softplus(const Var& x) {
  return record("softplus", engine::unary(kernels, x.value()), {x},
                [x = x.value()](const Tensor& dy, const Needs&) -> std::vector<Tensor> {
                  return {engine::unary_grad(kernels, dy, x, Tensor())};
                });
}

OpSamples softplus_samples() {
  const auto run = [](const std::vector<Var>& in) { return softplus(in[0]); };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, run},
                 {"long", {uniform("x", {2, 1031}, -4, 4)}, run},
                 {"size-1", {normal("x", {1})}, run},
                 {"scalar", {normal("x", {})}, run},
                 {"empty", {normal("x", {0, 4})}, run}};
  out.refusals = {{"integers", {integers("x", {3}, 0, 5)}, run, {"softplus", "i64"}}};
  return out;
}

}  // namespace autograd
}  // namespace headroom
