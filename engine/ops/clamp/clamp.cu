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
  clamp_op.add(packs_row<float>(run<float>));
  clamp_op.add(packs_row<double>(run<double>));
  clamp_op.add(packs_row<bf16>(run<bf16>));
  clamp_grad_op.add(packs_row<float>(run_grad<float>));
  clamp_grad_op.add(packs_row<double>(run_grad<double>));
  clamp_grad_op.add(packs_row<bf16>(run_grad<bf16>));
}

}  // namespace headroom::engine::cuda
