#include "engine/ops/swiglu/swiglu.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/elementwise/activations.h"

namespace headroom::engine::cuda {
namespace {

struct Gated {
  template <class C>
  __device__ C operator()(C gate, C up) const {
    return Silu::f(gate) * up;
  }
};

/// Both gradients in one pass; a null one is not wanted.
template <class T>
struct SwigluBackward {
  Walk<3> walk;
  const T *dy, *gate, *up;
  T *dgate, *dup;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[3];
    walk.find(i, at);
    Compute<T> d[N], x[N], u[N], dx[N], du[N];
    load_pack<N>(dy + at[0], walk.inner_stride(0), d);
    load_pack<N>(gate + at[1], walk.inner_stride(1), x);
    load_pack<N>(up + at[2], walk.inner_stride(2), u);
    for (int k = 0; k < N; ++k) {
      dx[k] = d[k] * u[k] * Silu::df(x[k], Compute<T>(0));
      du[k] = d[k] * Silu::f(x[k]);
    }
    if (dgate) store_pack<N>(dgate + i, dx);
    if (dup) store_pack<N>(dup + i, du);
  }
};

template <class T>
void run(SwigluCall& c) {
  map<T, T, T>("swiglu", Gated(), c.y, c.gate, c.up);
}

template <class T>
void run_grad(SwigluGradCall& c) {
  constexpr int n = pack_size<T>();
  const SwigluBackward<T> g{Walk<3>(c.dy.shape(), {c.dy.strides(), c.gate.strides(), c.up.strides()}),
                            c.dy.data<T>(),
                            c.gate.data<T>(),
                            c.up.data<T>(),
                            c.dgate.defined() ? c.dgate.mutable_data<T>() : nullptr,
                            c.dup.defined() ? c.dup.mutable_data<T>() : nullptr};
  const bool whole =
      takes_packs<n>(g.walk, g.dgate, g.dy, g.gate, g.up) && takes_packs<n>(g.walk, g.dup, g.dy, g.gate, g.up);
  launch_packs<n>("swiglu_grad", c.dy.numel(), whole, g);
}

}  // namespace

void register_swiglu() {
  swiglu_op.add(packs_row<float>(run<float>));
  swiglu_op.add(packs_row<double>(run<double>));
  swiglu_op.add(packs_row<bf16>(run<bf16>));
  swiglu_grad_op.add(packs_row<float>(run_grad<float>));
  swiglu_grad_op.add(packs_row<double>(run_grad<double>));
  swiglu_grad_op.add(packs_row<bf16>(run_grad<bf16>));
}

}  // namespace headroom::engine::cuda
