#include "engine/ops/clamp/clamp.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/clamp/clamp_functor.h"

namespace headroom::engine::cuda {
namespace {

template <class C>
struct Clamped {
  C low, high;
  __device__ C operator()(C x) const { return Clamp::f(x, low, high); }
  __device__ C operator()(C dy, C x) const { return Clamp::df(dy, x, low, high); }
};

/// The bounds as T holds them.
template <class T>
Clamped<Compute<T>> clamped(double low, double high) {
  using C = Compute<T>;
  return {static_cast<C>(T(static_cast<C>(low))), static_cast<C>(T(static_cast<C>(high)))};
}

template <class T>
void run(ClampCall& c) {
  map<T, T>("clamp", clamped<T>(c.low, c.high), c.y, c.x);
}
template <class T>
void run_grad(ClampGradCall& c) {
  map<T, T, T>("clamp_grad", clamped<T>(c.low, c.high), c.dx, c.dy, c.x);
}

}  // namespace

void register_clamp() {
  add_strided_kernels(clamp_op, "packs", run<float>, run<double>, run<bf16>);
  add_strided_kernels(clamp_grad_op, "packs", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
