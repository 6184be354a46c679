#pragma once
#include <cmath>

#include "engine/cuda/bias.cuh"
#include "engine/cuda/rows.cuh"
#include "engine/joined_sums.h"
#include "engine/ops/dropout/dropping.cuh"
#include "engine/ops/rows/wide_moments.h"

// layer_norm (`centred`) and rms_norm, which differ only in the mean.
namespace headroom::engine::cuda {

struct LargerMagnitude {
  __device__ double operator()(double a, double b) const { return Larger()(std::fabs(a), std::fabs(b)); }
};

/// Mean, 0 unless `centred`, and 1/√(mean (x - mean)² + eps) of a row whose squares leave its dtype's range: divides
/// the row by a power of two near its largest element and sums in f64.
template <bool centred, class T, class Team, class C>
__device__ inline void scaled_moments(const Team& team, const T* x, int64_t n, double eps, C& mean, C& inverse) {
  double largest = 0;
  for_each_pack<1>(team, n, [&](int64_t i) { largest = LargerMagnitude()(largest, static_cast<double>(load(x[i]))); });
  largest = team.reduce(largest, LargerMagnitude());
  double unit = 1;  // a power of two
  if (largest > 0 && largest < HUGE_VAL) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    unit = std::ldexp(1.0, exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent);
  }
  double m = 0, squares = 0;
  if constexpr (centred) {
    for_each_pack<1>(team, n, [&](int64_t i) { m += static_cast<double>(load(x[i])) / unit; });
    m = team.reduce(m, Add()) / static_cast<double>(n);
  }
  for_each_pack<1>(team, n, [&](int64_t i) {
    const double d = static_cast<double>(load(x[i])) / unit - m;
    squares += d * d;
  });
  squares = team.reduce(squares, Add()) / static_cast<double>(n);
  const double small = eps / unit / unit;  // beside squares
  mean = static_cast<C>(m * unit);
  inverse = static_cast<C>(small < HUGE_VAL ? 1 / std::sqrt(squares + small) / unit : 1 / std::sqrt(eps));
}

/// With `added` the row is x + added, with `drops` x + dropout(added), which the first sweep writes to `sum`, rounded.
template <class T, int pack, bool centred, bool drops>
struct NormRow {
  using C = Compute<T>;
  const T *x, *added, *weight, *bias;
  T *sum, *y;
  C *mean, *inverse;
  int64_t n;
  double eps;
  bool aligned;
  Dropping<T> dropping;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const T* from = x + row * n;
    if (added) from = written_sum(team, row);
    const C width = static_cast<C>(n);
    C m = 0, squares = 0;
    if constexpr (centred) {
      for_each_pack<pack>(team, n, [&](int64_t i) {
        const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
        for (int k = 0; k < pack; ++k) m += v.at[k];
      });
      m = team.reduce(m, Add()) / width;
    }
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      for (int k = 0; k < pack; ++k) squares += (v.at[k] - m) * (v.at[k] - m);
    });
    const C mean_square = team.reduce(squares, Add()) / width + static_cast<C>(eps);
    C s = 1 / std::sqrt(mean_square);
    if (!moments_are_safe(mean_square)) scaled_moments<centred>(team, from, n, eps, m, s);
    if (team.index() == 0) {
      inverse[row] = s;
      if constexpr (centred) mean[row] = m;
    }
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(from + i, aligned);
      const Numbers<T, pack> w = load_numbers<pack>(weight + i, aligned);
      for (int k = 0; k < pack; ++k) v.at[k] = (v.at[k] - m) * s * w.at[k];
      if (bias) {
        const Numbers<T, pack> b = load_numbers<pack>(bias + i, aligned);
        for (int k = 0; k < pack; ++k) v.at[k] += b.at[k];
      }
      store_numbers<pack>(y + row * n + i, v, aligned);
    });
  }
  template <class Team>
  __device__ const T* written_sum(const Team& team, int64_t row) const {
    T* to = sum + row * n;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(x + row * n + i, aligned);
      Numbers<T, pack> a = load_numbers<pack>(added + row * n + i, aligned);
      if constexpr (drops) dropping.apply(row * n + i, a);
      for (int k = 0; k < pack; ++k) v.at[k] += a.at[k];
      store_numbers<pack>(to + i, v, aligned);
    });
    __syncwarp();  // scaled_moments() reads what other lanes wrote; the sums in between order the warps
    return to;
  }
};

/// `added` and `dx` may be null. With `drops` also `dropped`, dropout() of dx as it is stored.
template <class T, int pack, bool centred, bool drops>
struct NormGradRow {
  using C = Compute<T>;
  const T *dy, *x, *weight, *added;
  const C *mean, *inverse;
  T *dx, *dropped;
  int64_t n;
  Dropping<T> dropping;
  bool aligned = false;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    (*this)(team, row, [](auto&&...) {});
  }
  /// Also calls each(i, k, dy, x̂, dx) for every element i + k of this thread, pack by pack; with `drops` for dx there
  /// is what it dropped to.
  template <class Team, class Each>
  __device__ void operator()(const Team& team, int64_t row, const Each& each) const {
    const T *d = dy + row * n, *from = x + row * n;
    const C m = centred ? mean[row] : C(0), s = inverse[row];
    C g_sum = 0, dot = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(d + i, aligned), v = load_numbers<pack>(from + i, aligned);
      const Numbers<T, pack> w = load_numbers<pack>(weight + i, aligned);
      for (int k = 0; k < pack; ++k) {
        const C g = a.at[k] * w.at[k];
        g_sum += g;
        dot += g * ((v.at[k] - m) * s);
      }
    });
    const C width = static_cast<C>(n), dot_mean = team.reduce(dot, Add()) / width;
    C g_mean = 0;
    if constexpr (centred) g_mean = team.reduce(g_sum, Add()) / width;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(d + i, aligned);
      const Numbers<T, pack> v = load_numbers<pack>(from + i, aligned), w = load_numbers<pack>(weight + i, aligned);
      Numbers<T, pack> slope;
      for (int k = 0; k < pack; ++k) slope.at[k] = (a.at[k] * w.at[k] - (g_mean + (v.at[k] - m) * s * dot_mean)) * s;
      if (added) {
        const Numbers<T, pack> more = load_numbers<pack>(added + row * n + i, aligned);
        for (int k = 0; k < pack; ++k) slope.at[k] += more.at[k];
      }
      if (dx) store_numbers<pack>(dx + row * n + i, slope, aligned);
      if constexpr (drops) {
        for (int k = 0; k < pack; ++k) slope.at[k] = rounded<T>(slope.at[k]);
        dropping.apply(row * n + i, slope);
        store_numbers<pack>(dropped + row * n + i, slope, aligned);
      }
      for (int k = 0; k < pack; ++k) each(i, k, a.at[k], (v.at[k] - m) * s, slope.at[k]);
    });
  }
};

/// A block takes `chunk` rows, a warp each: dx, and the chunk's sums over them of `vectors` vectors: dy · x̂, with
/// `centred` dy, and if there is one more, what `grad` gives for dx. sums (vectors, chunks, n). Each warp adds in
/// shared memory of its own.
template <class T, int pack, bool centred, bool drops>
__global__ void norm_grad_chunks(NormGradRow<T, pack, centred, drops> grad, Compute<T>* sums, int vectors, int64_t rows,
                                 int64_t chunk) {
  using C = Compute<T>;
  const WarpTeam team;
  const int n = static_cast<int>(grad.n), size = vectors * n, threads = static_cast<int>(blockDim.x);
  const int warps = threads / warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
  C *all = dynamic_shared<C>(), *own = all + warp * size;
  // Number k of all packs lies side by side, so that lanes write to different banks.
  const auto slot = [&](int column) { return column % pack * (n / pack) + column / pack; };
  for (int i = team.index(); i < size; i += warp_size) own[i] = 0;
  __syncwarp();
  const int64_t first = int64_t{blockIdx.x} * chunk, end = first + chunk < rows ? first + chunk : rows;
  for (int64_t row = first + warp; row < end; row += warps)
    grad(team, row, [&](int64_t i, int k, C dy, C normed, C dx) {
      C* to = own + k * (n / pack) + static_cast<int>(i) / pack;
      to[0] += dy * normed;
      if constexpr (centred) to[n] += dy;
      if (vectors > (centred ? 2 : 1)) to[size - n] += dx;
    });
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < size; i += threads) {
    const C* from = all + i / n * n + slot(i % n);
    C total = from[0];
    for (int w = 1; w < warps; ++w) total += from[w * size];
    sums[(int64_t{i / n} * gridDim.x + blockIdx.x) * n + i % n] = total;
  }
}

/// dw += dy · x̂ and, with `centred`, db += dy.
template <class T, bool centred>
struct NormParameterColumn {
  using C = Compute<T>;
  const T *dy, *x;
  const C *mean, *inverse;
  int64_t n;
  __device__ void operator()(int64_t row, int64_t column, C (&sums)[centred ? 2 : 1]) const {
    const C d = load(dy[row * n + column]), v = load(x[row * n + column]);
    sums[0] += d * ((v - (centred ? mean[row] : C(0))) * inverse[row]);
    if constexpr (centred) sums[1] += d;
  }
};

/// y, the inverse and, with `centred`, the mean of every row of x, or of x + dropout of `added` into `sum`; bias may be
/// null.
template <bool centred, class T>
void norm_rows(const char* name, const Tensor& x, const Tensor& added, const Dropout& dropout, const T* weight,
               const T* bias, Tensor& sum, T* y, Compute<T>* mean, Compute<T>* inverse, double eps) {
  const int64_t n = x.dim(-1);
  const T *from = x.data<T>(), *more = added.data_or_null<T>();
  if (more) sum = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, C)
  T* total = more ? sum.mutable_data<T>() : nullptr;
  with_pack<T>(n, [&](auto pack) {
    const auto run = [&](auto drops) {
      launch_rows(
          name, x.numel() / n, n,
          NormRow<T, pack(), centred, drops()>{from, more, weight, bias, total, y, mean, inverse, n, eps,
                                               are_aligned(from, more, weight, bias, total, y), Dropping<T>(dropout)});
    };
    if (more && dropout.p > 0) run(std::true_type());
    else run(std::false_type());
  });
}

/// What norm_grad_rows() reads, and computes for a norm: dx (plus `added`, if given) unless it is undefined, and with
/// `want_sums` dweight and, with `centred`, dbias, which it makes unless they are places of Compute<T>; those may wait
/// for JoinedSums::finish(). The mean is undefined unless `centred`.
struct NormGradients {
  const Tensor &dy, &x, &weight, &mean, &inverse, &added, &dx;
  bool want_sums;
  Tensor &dweight, &dbias;
};

/// The kernel's operands; `dropped` as `dropout` drops dx, or undefined.
template <class T, int pack, bool centred, bool drops>
NormGradRow<T, pack, centred, drops> grad_row_of(const NormGradients& of, const Tensor& dropped,
                                                 const Dropout& dropout) {
  using C = Compute<T>;
  NormGradRow<T, pack, centred, drops> row{.dy = of.dy.data<T>(),
                                           .x = of.x.data<T>(),
                                           .weight = of.weight.data<T>(),
                                           .added = of.added.data_or_null<T>(),
                                           .mean = of.mean.data_or_null<C>(),
                                           .inverse = of.inverse.data<C>(),
                                           .dx = of.dx.mutable_data_or_null<T>(),
                                           .dropped = dropped.mutable_data_or_null<T>(),
                                           .n = of.x.dim(-1),
                                           .dropping = Dropping<T>(dropout)};
  row.aligned = are_aligned(row.dy, row.x, row.weight, row.added, row.dx, row.dropped);
  return row;
}

/// Both in one pass over the rows, with what is wanted for the layer before: dropout() of dx, and sums over the rows of
/// what it gets, for its bias. One kernel adds the chunks.
template <bool centred, class T>
void norm_grad_joined(const char* name, const NormGradients& of) {
  using C = Compute<T>;
  constexpr int64_t most_shared = 48 << 10, most_warps = 8;
  const int64_t n = of.x.dim(-1), rows = of.x.numel() / n;
  const bool sums_dx = of.dx.defined() && sums_columns(of.x.dtype());
  const int64_t most_vectors = centred ? 3 : 2, vectors = most_vectors - (sums_dx ? 0 : 1);
  const int64_t vector_bytes = n * int64_t{sizeof(C)};
  const int64_t warps = std::clamp<int64_t>(most_shared / (most_vectors * vector_bytes), 1, most_warps);
  // Sums of about a mebibyte at most, and enough blocks for a large GPU.
  const int64_t wanted = std::clamp<int64_t>((int64_t{1} << 18) / n, 128, 512), least = (rows + wanted - 1) / wanted;
  const int64_t chunk = (least + warps - 1) / warps * warps, chunks = (rows + chunk - 1) / chunk;
  const Tensor sums = Tensor::empty({vectors, chunks, n}, dtype_of<C>(), of.x.device());  // (vectors, chunks, C)
  const Dropout dropout = of.dx.defined() ? JoinedSums::wanted_dropout() : Dropout();
  const Tensor dropped = dropout.p > 0 ? Tensor::empty(of.x.shape(), of.x.dtype(), of.x.device()) : Tensor();  // (…, C)
  C* to = sums.mutable_data<C>();
  with_pack<T>(n, [&](auto pack) {
    const auto run = [&](auto drops) {
      launch_kernel(name, norm_grad_chunks<T, pack(), centred, drops()>,
                    {chunks, warps * warp_size, static_cast<size_t>(warps * vectors * vector_bytes)},
                    grad_row_of<T, pack(), centred, drops()>(of, dropped, dropout), to, static_cast<int>(vectors), rows,
                    chunk);
    };
    dropped.defined() ? run(std::true_type()) : run(std::false_type());
  });
  if (dropped.defined()) JoinedSums::keep_dropped(of.dx, dropped);
  const auto vector = [&](int64_t v) { return sums.slice(0, v, v + 1).reshape({chunks, n}); };
  const auto is_place = [](const Tensor& x) { return x.defined() && x.dtype() == dtype_of<C>(); };
  const bool are_places = is_place(of.dweight) && (!centred || is_place(of.dbias));
  if (!are_places) of.dweight = Tensor::empty({n}, of.x.dtype(), of.x.device());           // (C)
  if (!are_places && centred) of.dbias = Tensor::empty({n}, of.x.dtype(), of.x.device());  // (C)
  std::vector<ChunkSums> joined{{vector(0), of.dweight}};
  if (centred) joined.push_back({vector(1), of.dbias});
  JoinedSums::join(joined, are_places);
  if (sums_dx) JoinedSums::keep_columns(dropped.defined() ? dropped : of.dx, vector(vectors - 1));
}

/// The sums in the same pass as dx, or for long rows in another.
template <bool centred, class T>
void norm_grad_rows(const char* name, const NormGradients& of) {
  const int64_t n = of.x.dim(-1), rows = of.x.numel() / n;
  if (of.want_sums && n <= short_row && joins_gradients()) return norm_grad_joined<centred, T>(name, of);
  if (of.dx.defined())
    with_pack<T>(n, [&](auto pack) { launch_rows(name, rows, n, grad_row_of<T, pack(), centred, false>(of, {}, {})); });
  if (!of.want_sums) return;
  using C = Compute<T>;
  constexpr int vectors = centred ? 2 : 1;
  const Tensor sums = Tensor::empty({vectors, n}, of.x.dtype(), of.x.device());  // (vectors, C)
  add_columns<vectors, C>(name, 1, rows, n,
                          NormParameterColumn<T, centred>{of.dy.data<T>(), of.x.data<T>(), of.mean.data_or_null<C>(),
                                                          of.inverse.data<C>(), n},
                          sums.mutable_data<T>(), of.x.device());
  of.dweight = sums.slice(0, 0, 1).reshape({n});
  if (centred) of.dbias = sums.slice(0, vectors - 1, vectors).reshape({n});
}

}  // namespace headroom::engine::cuda
