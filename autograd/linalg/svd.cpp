#include "autograd/linalg/svd.h"

#include "engine/linalg/svd_grad.h"

namespace headroom::autograd {

SvdVars svd(const Var& a, engine::linalg::SvdMethod method) {
  const engine::linalg::SVD factors = engine::linalg::svd(a.value(), method);
  // One node for each result: the gradient is linear in the three, so each brings its own part.
  const auto part = [&](const char* name, const Tensor& value, auto place) {
    return record(name, value, {a}, [factors, place](const Tensor& dy, const Needs& needs) -> std::vector<Tensor> {
      return {needs[0] ? place(factors, dy) : Tensor()};
    });
  };
  using engine::linalg::SVD;
  using engine::linalg::svd_grad;
  return {part("svd.u", factors.u, [](const SVD& f, const Tensor& dy) { return svd_grad(f, dy, {}, {}); }),
          part("svd.s", factors.s, [](const SVD& f, const Tensor& dy) { return svd_grad(f, {}, dy, {}); }),
          part("svd.vt", factors.vt, [](const SVD& f, const Tensor& dy) { return svd_grad(f, {}, {}, dy); })};
}

}  // namespace headroom::autograd
