#include "engine/ops/rope/rope.h"

#include <cmath>

#include "engine/cuda/elementwise.cuh"

namespace headroom::engine::cuda {
namespace {

/// y[e] = x[e] · cosine[e] + x[partner of e] · sine[e]: a thread has a pack of elements and reads their partners too.
template <class T>
struct RopeElements {
  using S = Compute<T>;  // the table's dtype
  Walk<2> walk;          ///< of x and y
  const T* x;
  const S* angles;  ///< (rows, 3, D)
  T* y;
  int64_t dim, span, rows, sine, stride;
  bool interleaved;

  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[2];
    walk.find(i, at);
    const int64_t e = i % dim, half = dim / 2;
    const S* cosines = angles + i / span % rows * 3 * dim + e;
    S own[N], partner[N], c[N], s[N], to[N];
    load_pack<N>(x + at[0], 1, own);
    load_pack<N>(cosines, 1, c);
    load_pack<N>(cosines + sine * dim, 1, s);
    if (!interleaved) {
      load_pack<N>(x + at[0] + (e < half ? half : -half) * stride, 1, partner);
    } else if constexpr (N == 1) {
      partner[0] = load(x[at[0] + (e % 2 == 0 ? stride : -stride)]);
    } else {
      for (int k = 0; k < N; ++k) partner[k] = own[k ^ 1];
    }
    for (int k = 0; k < N; ++k) to[k] = own[k] * c[k] + partner[k] * s[k];
    store_pack<N>(y + at[1], to);
  }
};

template <class T>
void run(RopeCall& c) {
  constexpr int n = pack_size<T>();
  const int64_t dim = c.x.dim(3);
  c.angles = c.angles.contiguous();
  const RopeElements<T> g{Walk<2>(c.x.shape(), {c.x.strides(), c.y.strides()}),
                          c.x.data<T>(),
                          c.angles.data<Compute<T>>(),
                          c.y.mutable_data<T>(),
                          dim,
                          c.x.dim(2) * dim,
                          c.angles.numel() / (3 * dim),
                          c.sine,
                          c.x.strides()[3],
                          c.interleaved};
  const bool whole = dim % n == 0 && (c.interleaved || dim / 2 % n == 0) && c.x.strides()[3] == 1 &&
                     takes_packs<n>(g.walk, g.y, g.x, g.y) && is_aligned<n>(g.angles);
  launch_packs<n>("rope", c.x.numel(), whole, g);
}

/// The angles of one pair at one position.
template <class T>
struct RopeTableElements {
  const int64_t* positions;
  const double* frequencies;  ///< null: those of the base
  double base;
  int64_t half;
  bool interleaved;
  T* table;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / half, pair = i % half, dim = 2 * half;
    const int64_t first = interleaved ? 2 * pair : pair, second = interleaved ? 2 * pair + 1 : pair + half;
    const double frequency =
        frequencies ? frequencies[pair] : std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
    const double angle = static_cast<double>(positions[row]) * frequency;
    const T cosine = static_cast<T>(std::cos(angle)), sine = static_cast<T>(std::sin(angle));
    T* to = table + row * 3 * dim;
    to[first] = to[second] = cosine;
    to[dim + second] = to[2 * dim + first] = sine;
    to[dim + first] = to[2 * dim + second] = -sine;
  }
};

template <class T>
void fill(RopeTableCall& c) {
  const int64_t half = c.table.dim(-1) / 2;
  const double* frequencies = c.frequencies.data_or_null<double>();
  launch("rope_table", c.positions.numel() * half,
         RopeTableElements<T>{c.positions.data<int64_t>(), frequencies, c.base, half, c.interleaved,
                              c.table.mutable_data<T>()});
}

void run_table(RopeTableCall& c) {
  if (c.table.dtype() == DType::f32) fill<float>(c);
  else fill<double>(c);
}

}  // namespace

void register_rope() {
  for (Op<RopeCall>* op : {&rope_op, &rope_grad_op})
    add_strided_kernels(*op, "packs", run<float>, run<double>, run<bf16>);
  add_kernel(rope_table_op, "pair by pair", DType::i64, run_table);
}

}  // namespace headroom::engine::cuda
