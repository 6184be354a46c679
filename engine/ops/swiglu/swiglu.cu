#include "engine/ops/swiglu/swiglu.h"

#include "engine/cuda/elementwise.cuh"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/rows/padded_rows.h"

namespace headroom::engine::cuda {
namespace {

/// Operands and results as a kernel walks over them: by their shape or, if all are padded_rows() of one width, with the
/// gaps as if these were numbers, too.
struct Layout {
  Shape shape;
  int64_t width = 0, wide = 0;  ///< 0: there are no gaps

  explicit Layout(const Tensor& result) : shape(result.shape()) {
    if (!has_padded_rows(result)) return;
    width = result.dim(-1), wide = result.row_stride();
    shape = {result.numel() / width * wide};
  }
  Shape strides_of(const Tensor& x) const { return wide > 0 ? Shape{1} : x.strides(); }
};

/// Results in the gaps become zero.
struct Gaps {
  int64_t width, wide;
  bool is_narrow;  ///< 32-bit division suffices

  explicit Gaps(const Layout& layout)
      : width(layout.width), wide(layout.wide), is_narrow(layout.shape.numel() <= INT32_MAX) {}
  /// Clears those of numbers i, i + 1, ….
  template <int N, class C>
  __device__ void clear(int64_t i, C (&numbers)[N]) const {
    if (wide == 0) return;
    const int64_t column = is_narrow ? static_cast<uint32_t>(i) % static_cast<uint32_t>(wide) : i % wide;
    for (int k = 0; k < N; ++k)
      if (column + k >= width) numbers[k] = 0;
  }
};

template <class T>
struct SwigluForward {
  Walk<2> walk;
  Gaps gaps;
  const T *gate, *up;
  T* y;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[2];
    walk.find(i, at);
    Compute<T> x[N], u[N];
    load_pack<N>(gate + at[0], walk.inner_stride(0), x);
    load_pack<N>(up + at[1], walk.inner_stride(1), u);
    for (int k = 0; k < N; ++k) x[k] = Silu::f(x[k]) * u[k];
    gaps.clear(i, x);
    store_pack<N>(y + i, x);
  }
};

/// Both gradients in one pass; a null one is not wanted.
template <class T>
struct SwigluBackward {
  Walk<3> walk;
  Gaps gaps;
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
    gaps.clear(i, dx);
    gaps.clear(i, du);
    if (dgate) store_pack<N>(dgate + i, dx);
    if (dup) store_pack<N>(dup + i, du);
  }
};

template <class T>
void run(SwigluCall& c) {
  constexpr int n = pack_size<T>();
  const Layout at(c.y);
  const SwigluForward<T> g{Walk<2>(at.shape, {at.strides_of(c.gate), at.strides_of(c.up)}), Gaps(at), c.gate.data<T>(),
                           c.up.data<T>(), c.y.mutable_data<T>()};
  launch_packs<n>("swiglu", at.shape.numel(), takes_packs<n>(g.walk, g.y, g.gate, g.up), g);
}

template <class T>
void run_grad(SwigluGradCall& c) {
  constexpr int n = pack_size<T>();
  const Layout at(c.dgate.defined() ? c.dgate : c.dup);
  const SwigluBackward<T> g{Walk<3>(at.shape, {at.strides_of(c.dy), at.strides_of(c.gate), at.strides_of(c.up)}),
                            Gaps(at),
                            c.dy.data<T>(),
                            c.gate.data<T>(),
                            c.up.data<T>(),
                            c.dgate.mutable_data_or_null<T>(),
                            c.dup.mutable_data_or_null<T>()};
  const bool whole =
      takes_packs<n>(g.walk, g.dgate, g.dy, g.gate, g.up) && takes_packs<n>(g.walk, g.dup, g.dy, g.gate, g.up);
  launch_packs<n>("swiglu_grad", at.shape.numel(), whole, g);
}

}  // namespace

void register_swiglu() {
  add_strided_kernels(swiglu_op, "packs", run<float>, run<double>, run<bf16>);
  add_strided_kernels(swiglu_grad_op, "packs", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
