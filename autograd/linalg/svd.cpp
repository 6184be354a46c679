#include "autograd/linalg/svd.h"

#include "engine/linalg/svd_grad.h"

namespace headroom::autograd {

SvdVars svd(const Var& a, engine::linalg::SvdMethod method) {
  const engine::linalg::SVD factors = engine::linalg::svd(a.value(), method);
  // One node for each result: the gradient is linear in the three, so each brings its own part.
  const auto part = [&](const char* name, const Tensor& value, auto vjp) {
    return record(name, value, {a}, vjp, saved("u", factors.u), saved("s", factors.s), saved("vt", factors.vt));
  };
  using engine::linalg::svd_grad;
  using Gradients = std::vector<Tensor>;
  return {part("svd.u", factors.u,
               [](const Tensor& dy, const Needs&, const Tensor& u, const Tensor& s, const Tensor& vt) {
                 return Gradients{svd_grad({u, s, vt}, dy, {}, {})};
               }),
          part("svd.s", factors.s,
               [](const Tensor& dy, const Needs&, const Tensor& u, const Tensor& s, const Tensor& vt) {
                 return Gradients{svd_grad({u, s, vt}, {}, dy, {})};
               }),
          part("svd.vt", factors.vt,
               [](const Tensor& dy, const Needs&, const Tensor& u, const Tensor& s, const Tensor& vt) {
                 return Gradients{svd_grad({u, s, vt}, {}, {}, dy)};
               })};
}

}  // namespace headroom::autograd
