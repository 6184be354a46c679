#pragma once
#include <type_traits>
#include <utility>

#include "engine/cuda/bias.cuh"
#include "engine/cuda/pack.cuh"
#include "engine/cuda/rough.cuh"
#include "engine/elementwise/binary.h"
#include "engine/elementwise/unary.h"

// GPU kernels of an elementwise op, from the functor of its reference loops and SIMD kernels. Operands may be strided
// and broadcast; results are row-major.
namespace headroom::engine::cuda {

/// N numbers of an operand.
template <int N, class C>
struct Loaded {
  C at[N];
};

/// y[i] = f(x_0[i], x_1[i], …), x_k of the k-th dtype of X.
template <class F, class Y, class... X>
struct Map {
  F f;
  Walk<sizeof...(X)> walk;
  Y* y;
  const void* x[sizeof...(X)];

  template <int N>
  __device__ void run(int64_t i) const {
    run<N>(i, std::make_integer_sequence<int, sizeof...(X)>());
  }

 private:
  template <int N, int... k>
  __device__ void run(int64_t i, std::integer_sequence<int, k...>) const {
    int64_t at[sizeof...(X)];
    walk.find(i, at);
    write(i, loaded<N>(static_cast<const X*>(x[k]) + at[k], walk.inner_stride(k))...);
  }
  template <int N, class T>
  __device__ static Loaded<N, Compute<T>> loaded(const T* from, int64_t stride) {
    Loaded<N, Compute<T>> numbers;
    load_pack<N>(from, stride, numbers.at);
    return numbers;
  }
  template <int N, class... C>
  __device__ void write(int64_t i, const Loaded<N, C>&... from) const {
    Compute<Y> to[N];
    for (int k = 0; k < N; ++k) to[k] = f(from.at[k]...);
    store_pack<N>(y + i, to);
  }
};

/// True if y, row-major and written at i, and the operands of a walk allow packs of N.
template <int N, class Y, int K, class... X>
bool takes_packs(const Walk<K>& walk, const Y* y, const X*... x) {
  int k = 0;
  bool all = is_aligned<N>(y);
  ((all = all && walk.takes_packs(N, k++, x, sizeof(X))), ...);
  return all;
}

/// y = f(x_0, x_1, …) elementwise, for operands of dtypes X, which broadcast to y; y is contiguous, not empty, and may
/// be an operand.
template <class Y, class... X, class F, class... Operand>
void map(const char* name, const F& f, const Tensor& y, const Operand&... x) {
  static_assert(sizeof...(Operand) == sizeof...(X), "a dtype for each operand");
  constexpr int n = pack_size<Y, X...>();
  const Map<F, Y, X...> g{f,
                          Walk<sizeof...(X)>(y.shape(), {x.expand(y.shape()).strides()...}),
                          y.mutable_data<Y>(),
                          {x.template data<X>()...}};
  launch_packs<n>(name, y.numel(), takes_packs<n>(g.walk, g.y, x.template data<X>()...), g);
}

/// A functor's formulas as function objects.
template <class F>
struct Forward {
  template <class... C>
  __device__ auto operator()(C... x) const {
    return F::f(x...);
  }
};
/// dy · f'(x), from x, y or neither, as the functor says.
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
/// The same in bf16, for functors that declare `rough_in_bf16`.
template <class F>
struct RoughForward {
  __device__ float operator()(float x) const { return F::f(Rough(x)).value; }
};
template <class F>
struct RoughBackward {
  __device__ float operator()(float dy, float x) const { return dy * F::df(Rough(x), Rough(0.0f)).value; }
};
template <class F, class T>
inline constexpr bool is_rough = std::is_same_v<T, bf16>&& requires {
  F::rough_in_bf16;
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
  map<T, T>("unary", std::conditional_t<is_rough<F, T>, RoughForward<F>, Forward<F>>(), c.y, c.x);
}
/// Computes f(dy, known), an activation's gradient, stores it in dx and gives it to column_chunks_kernel().
template <class F, class T>
struct SlopeRows {
  using Element = T;
  F f;
  const T *dy, *known;
  T* dx;
  int64_t width;
  template <int pack>
  __device__ Numbers<T, pack> at(int64_t row, int64_t column) const {
    const int64_t i = row * width + column;
    const Numbers<T, pack> d = load_numbers<pack>(dy + i, true), x = load_numbers<pack>(known + i, true);
    Numbers<T, pack> slope;
    for (int k = 0; k < pack; ++k) slope.at[k] = f(d.at[k], x.at[k]);
    store_numbers<pack>(dx + i, slope, true);
    return slope;
  }
};

/// dx = f(dy, known), with the sums over its rows for the bias of the layer that made `known`. False if nobody wants
/// them, or the operands are no aligned rows.
template <class T, class F>
bool map_with_columns(const F& f, const UnaryGradCall& c, const Tensor& known) {
  constexpr int pack = widest_pack<T>;
  const int64_t width = c.dx.rank() > 0 ? c.dx.dim(-1) : 1, rows = c.dx.numel() / width;
  const SlopeRows<F, T> slopes{f, c.dy.data<T>(), known.data<T>(), c.dx.mutable_data<T>(), width};
  if (!sums_columns(c.dx.dtype()) || width % pack != 0 || !c.dy.is_contiguous() || !known.is_contiguous() ||
      !are_aligned(slopes.dy, slopes.known, slopes.dx))
    return false;
  const ColumnChunks cut(rows, width, pack, 1024, 256, 32);
  const Tensor sums = Tensor::empty({cut.chunks, width}, dtype_of<Compute<T>>(), c.dx.device());  // (chunks, width)
  cut.template run<pack>("unary_grad", slopes, sums.mutable_data<Compute<T>>(), rows, width);
  JoinedSums::keep_columns(c.dx, sums);
  return true;
}

template <class F, class T>
void run_unary_grad(UnaryGradCall& c) {
  if constexpr (std::is_same_v<T, bf16> && requires { F::is_of_layers; }) {
    using Slope = std::conditional_t<is_rough<F, T>, RoughBackward<F>, Backward<F>>;
    if (map_with_columns<T>(Slope(), c, c.x)) return;
  }
  if constexpr (is_rough<F, T>) map<T, T, T>("unary_grad", RoughBackward<F>(), c.dx, c.dy, c.x);
  else if constexpr (F::reads_x && F::reads_y) map<T, T, T, T>("unary_grad", Backward<F>(), c.dx, c.dy, c.x, c.y);
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

/// Adds a functor's kernels to an op's table.
template <class F>
void add_unary(UnaryOp& op) {
  add_strided_kernels(op.forward, "packs", run_unary<F, float>, run_unary<F, double>, run_unary<F, bf16>);
  add_strided_kernels(op.grad, "packs", run_unary_grad<F, float>, run_unary_grad<F, double>, run_unary_grad<F, bf16>);
}
template <class F>
void add_binary(BinaryOp& op) {
  add_strided_kernels(op, "packs", run_binary<F, float>, run_binary<F, double>, run_binary<F, bf16>);
}
template <class F>
void add_binary_grad(BinaryGradOp& op) {
  add_strided_kernels(op, "packs", run_binary_grad<F, float>, run_binary_grad<F, double>, run_binary_grad<F, bf16>);
}

}  // namespace headroom::engine::cuda
