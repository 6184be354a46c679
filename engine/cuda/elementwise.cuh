#pragma once
#include "engine/cuda/pack.cuh"
#include "engine/elementwise/binary.h"
#include "engine/elementwise/unary.h"

// GPU kernels of an elementwise op from the functor that also makes its reference loops and its SIMD kernels. Operands
// may be strided and broadcast; results are row-major.
namespace headroom::engine::cuda {

/// y[i] = f(a[i]).
template <class F, class Y, class A>
struct Map1 {
  F f;
  Walk<1> walk;
  Y* y;
  const A* a;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[1];
    walk.find(i, at);
    Compute<A> from[N];
    Compute<Y> to[N];
    load_pack<N>(a + at[0], walk.inner_stride(0), from);
    for (int k = 0; k < N; ++k) to[k] = f(from[k]);
    store_pack<N>(y + i, to);
  }
};

/// y[i] = f(a[i], b[i]).
template <class F, class Y, class A, class B>
struct Map2 {
  F f;
  Walk<2> walk;
  Y* y;
  const A* a;
  const B* b;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[2];
    walk.find(i, at);
    Compute<A> from_a[N];
    Compute<B> from_b[N];
    Compute<Y> to[N];
    load_pack<N>(a + at[0], walk.inner_stride(0), from_a);
    load_pack<N>(b + at[1], walk.inner_stride(1), from_b);
    for (int k = 0; k < N; ++k) to[k] = f(from_a[k], from_b[k]);
    store_pack<N>(y + i, to);
  }
};

/// y[i] = f(a[i], b[i], c[i]).
template <class F, class Y, class A, class B, class C>
struct Map3 {
  F f;
  Walk<3> walk;
  Y* y;
  const A* a;
  const B* b;
  const C* c;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[3];
    walk.find(i, at);
    Compute<A> from_a[N];
    Compute<B> from_b[N];
    Compute<C> from_c[N];
    Compute<Y> to[N];
    load_pack<N>(a + at[0], walk.inner_stride(0), from_a);
    load_pack<N>(b + at[1], walk.inner_stride(1), from_b);
    load_pack<N>(c + at[2], walk.inner_stride(2), from_c);
    for (int k = 0; k < N; ++k) to[k] = f(from_a[k], from_b[k], from_c[k]);
    store_pack<N>(y + i, to);
  }
};

/// Whether y, row-major and written at i, and the operands of a walk take packs of N.
template <int N, class Y, int K, class... X>
bool takes_packs(const Walk<K>& walk, const Y* y, const X*... x) {
  int k = 0;
  bool all = is_aligned<N>(y);
  ((all = all && walk.takes_packs(N, k++, x, sizeof(X))), ...);
  return all;
}

/// y = f(a) element by element, and the same of two and three operands, which broadcast to y; y is contiguous and not
/// empty, and may be an operand.
template <class Y, class A, class F>
void map(const char* name, const F& f, const Tensor& y, const Tensor& a) {
  constexpr int n = pack_size<Y, A>();
  const Map1<F, Y, A> g{f, Walk<1>(y.shape(), {a.expand(y.shape()).strides()}), y.mutable_data<Y>(), a.data<A>()};
  launch_packs<n>(name, y.numel(), takes_packs<n>(g.walk, g.y, g.a), g);
}
template <class Y, class A, class B, class F>
void map(const char* name, const F& f, const Tensor& y, const Tensor& a, const Tensor& b) {
  constexpr int n = pack_size<Y, A, B>();
  const Shape& shape = y.shape();
  const Map2<F, Y, A, B> g{f, Walk<2>(shape, {a.expand(shape).strides(), b.expand(shape).strides()}),
                           y.mutable_data<Y>(), a.data<A>(), b.data<B>()};
  launch_packs<n>(name, y.numel(), takes_packs<n>(g.walk, g.y, g.a, g.b), g);
}
template <class Y, class A, class B, class C, class F>
void map(const char* name, const F& f, const Tensor& y, const Tensor& a, const Tensor& b, const Tensor& c) {
  constexpr int n = pack_size<Y, A, B, C>();
  const Shape& shape = y.shape();
  const Map3<F, Y, A, B, C> g{
      f,
      Walk<3>(shape, {a.expand(shape).strides(), b.expand(shape).strides(), c.expand(shape).strides()}),
      y.mutable_data<Y>(),
      a.data<A>(),
      b.data<B>(),
      c.data<C>()};
  launch_packs<n>(name, y.numel(), takes_packs<n>(g.walk, g.y, g.a, g.b, g.c), g);
}

/// A functor's formulas as function objects.
template <class F>
struct Forward {
  template <class... C>
  __device__ auto operator()(C... x) const {
    return F::f(x...);
  }
};
/// dy · f'(x), from x or y, as the functor says, or from neither.
template <class F>
struct Backward {
  template <class C>
  __device__ C operator()(C dy) const {
    return dy * F::df(C(0), C(0));
  }
  template <class C>
  __device__ C operator()(C dy, C known) const {
    if constexpr (F::reads_x) return dy * F::df(known, C(0));
    else return dy * F::df(C(0), known);
  }
  template <class C>
  __device__ C operator()(C dy, C x, C y) const {
    return dy * F::df(x, y);
  }
};
/// dy · F::f(a, b), F a slope.
template <class F>
struct TimesSlope {
  template <class C>
  __device__ C operator()(C dy, C a, C b) const {
    return dy * F::f(a, b);
  }
};

template <class F, class T>
void run_unary(UnaryCall& c) {
  map<T, T>("unary", Forward<F>(), c.y, c.x);
}
template <class F, class T>
void run_unary_grad(UnaryGradCall& c) {
  if constexpr (F::reads_x && F::reads_y) map<T, T, T, T>("unary_grad", Backward<F>(), c.dx, c.dy, c.x, c.y);
  else if constexpr (F::reads_x || F::reads_y)
    map<T, T, T>("unary_grad", Backward<F>(), c.dx, c.dy, F::reads_x ? c.x : c.y);
  else map<T, T>("unary_grad", Backward<F>(), c.dx, c.dy);
}
template <class F, class T>
void run_binary(BinaryCall& c) {
  map<T, T, T>("binary", Forward<F>(), c.y, c.a, c.b);
}
template <class F, class T>
void run_binary_grad(BinaryGradCall& c) {
  if (c.by_b) map<T, T, T, T>("binary_grad", TimesSlope<SlopeB<F>>(), c.d, c.dy, c.a, c.b);
  else map<T, T, T, T>("binary_grad", TimesSlope<SlopeA<F>>(), c.d, c.dy, c.a, c.b);
}

/// A row of a table for operands of dtype T, strided ones too.
template <class T, class Call>
Implementation<Call> packs_row(void (*run)(Call&)) {
  return {.name = "packs", .dtypes = dtype_of<T>(), .run = run, .takes_strided = true, .device = Device::Kind::cuda};
}

/// Adds the rows of a functor to an op's table: f32, f64 and bf16.
template <class F>
void add_unary(UnaryOp& op) {
  op.forward.add(packs_row<float>(run_unary<F, float>));
  op.forward.add(packs_row<double>(run_unary<F, double>));
  op.forward.add(packs_row<bf16>(run_unary<F, bf16>));
  op.grad.add(packs_row<float>(run_unary_grad<F, float>));
  op.grad.add(packs_row<double>(run_unary_grad<F, double>));
  op.grad.add(packs_row<bf16>(run_unary_grad<F, bf16>));
}
template <class F>
void add_binary(BinaryOp& op) {
  op.add(packs_row<float>(run_binary<F, float>));
  op.add(packs_row<double>(run_binary<F, double>));
  op.add(packs_row<bf16>(run_binary<F, bf16>));
}
template <class F>
void add_binary_grad(BinaryGradOp& op) {
  op.add(packs_row<float>(run_binary_grad<F, float>));
  op.add(packs_row<double>(run_binary_grad<F, double>));
  op.add(packs_row<bf16>(run_binary_grad<F, bf16>));
}

}  // namespace headroom::engine::cuda
