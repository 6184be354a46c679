#include "engine/cuda/padded_product.h"

#include <algorithm>

#include "engine/cuda/pack.cuh"
#include "engine/profile.h"

namespace headroom::engine::cuda {
namespace {

/// to (…, wide) = from (rows, columns) with zeros to the right of it and below; `row`: from one of its rows to the
/// next.
template <class T>
struct PadMatrix {
  const T* from;
  T* to;
  int64_t row;
  uint32_t rows, columns, wide;
  template <int N>
  __device__ void run(int64_t i) const {
    const uint32_t r = static_cast<uint32_t>(i) / wide, c = static_cast<uint32_t>(i) - r * wide;
    Compute<T> numbers[N];
    for (int k = 0; k < N; ++k) numbers[k] = r < rows && c + k < columns ? load(from[r * row + c + k]) : Compute<T>(0);
    store_pack<N>(to + i, numbers);
  }
};

/// The way back: to (rows, columns) = what from (rows, wide) has there.
template <class T>
struct CutMatrix {
  const T* from;
  T* to;
  int64_t row;
  uint32_t columns, wide;
  template <int N>
  __device__ void run(int64_t i) const {
    const uint32_t r = static_cast<uint32_t>(i) / wide, c = static_cast<uint32_t>(i) - r * wide;
    Compute<T> numbers[N];
    load_pack<N>(from + i, 1, numbers);
    for (int k = 0; k < N; ++k)
      if (c + k < columns) store(to[r * row + c + k], numbers[k]);
  }
};

template <class F>
void visit(DType dtype, const F& f) {
  dtype == DType::bf16 ? f(bf16{}) : f(float{});
}

/// Fills `to`, made for it, with `from` (rows, columns).
void pad(const Tensor& from, const Tensor& to) {
  const OpSpan span("product: padded copy");
  visit(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    launch_packs<pack_size<T>()>(
        "pad_matrix", to.numel(), true,
        PadMatrix<T>{from.data<T>(), to.mutable_data<T>(), from.strides()[0], static_cast<uint32_t>(from.dim(0)),
                     static_cast<uint32_t>(from.dim(1)), static_cast<uint32_t>(to.dim(1))});
  });
}

void cut(const Tensor& from, const Tensor& to) {
  const OpSpan span("product: padded copy");
  visit(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    launch_packs<pack_size<T>()>("cut_matrix", to.dim(0) * from.dim(1), true,
                                 CutMatrix<T>{from.data<T>(), to.mutable_data<T>(), to.strides()[0],
                                              static_cast<uint32_t>(to.dim(1)), static_cast<uint32_t>(from.dim(1))});
  });
}

/// A matrix of a product and what the product takes in its place: itself, with its padding, or a copy.
struct Padded {
  Tensor given, taken;
  int64_t copied = 0;  ///< bytes

  Padded(const Tensor& matrix, int64_t rows, int64_t columns, bool needs_zero)
      : given(matrix), taken(matrix.with_padding(rows, columns, needs_zero)), rows_(rows), columns_(columns) {
    if (!taken.defined()) copied = rows * columns * size_of(matrix.dtype());
  }
  void make_room() {
    if (copied > 0) taken = Tensor::empty({rows_, columns_}, given.dtype(), given.device());
  }
  void copy_in() const {
    if (copied > 0) pad(given, taken);
  }

 private:
  int64_t rows_, columns_;
};

int64_t rounded(int64_t extent) { return (extent + 7) / 8 * 8; }

/// True if copying `copied` bytes costs less than it saves. Sums over many rows into an odd width (a weight's gradient)
/// are the slowest: 0.06 us a row, however few columns (H100). Other short or narrow products are fast already.
bool are_worth_it(const BlasProduct& p, int64_t copied) {
  constexpr int64_t most_copied = int64_t{256} << 20, many_rows = 512, least_work = int64_t{1} << 24;
  const int64_t narrow = std::min(p.m, p.n), work = p.m * p.n * p.k, work_per_byte = work / copied;
  if (copied > most_copied) return false;
  if (p.transpose_a && !p.transpose_b) return p.k >= many_rows && work_per_byte >= 4;
  const bool is_long = narrow >= 8 && (p.k >= many_rows || (p.k >= 64 && narrow >= 64));
  return is_long && work >= least_work && work_per_byte >= 64;
}

}  // namespace

bool padded_product(const BlasProduct& p, const ProductTensors& t) {
  if (p.dtype != DType::bf16 || p.batch != 1) return false;
  // Only the axes along which a matrix lies in memory count.
  const int64_t m = p.transpose_a ? rounded(p.m) : p.m, n = rounded(p.n),
                k = p.transpose_a && !p.transpose_b ? p.k : rounded(p.k);
  if (m == p.m && n == p.n && k == p.k) return false;
  Padded a(t.a, p.transpose_a ? k : m, p.transpose_a ? m : k, true);
  Padded b(t.b, p.transpose_b ? n : k, p.transpose_b ? k : n, true);
  Padded y(t.y, m, n, false);
  const bool has_bias = p.epilogue == BlasEpilogue::bias, grows = m != p.m || n != p.n;
  Tensor bias = has_bias ? t.bias.reshape({p.n, 1}).with_padding(n, 1, true) : Tensor();
  const bool copies_bias = has_bias && !bias.defined();
  const int64_t of_added = p.adds && grows && y.copied == 0 ? m * n * size_of(p.result) : 0;
  const int64_t copied = a.copied + b.copied + y.copied + of_added + (copies_bias ? n * size_of(p.result) : 0);
  if (copied > 0 && !are_worth_it(p, copied)) return false;
  for (Padded* matrix : {&a, &b, &y}) matrix->make_room();
  if (copies_bias) bias = Tensor::empty({1, n}, p.result, t.y.device());
  const Tensor added = !p.adds || !grows ? t.added
                       : y.copied > 0    ? y.taken
                                         : Tensor::empty({m, n}, p.result, t.y.device());
  BlasProduct product = blas_product(p.dtype, m, n, k, p.transpose_a, p.transpose_b, p.epilogue);
  product.row_a = a.taken.strides()[0];
  product.row_b = b.taken.strides()[0];
  product.row_y = y.taken.strides()[0];
  product.adds = p.adds;
  product.result = p.result;
  BlasOperands operands{a.taken.raw(), b.taken.raw(), y.taken.mutable_raw()};
  if (has_bias) operands.bias = bias.raw();
  if (p.adds) operands.added = added.raw();
  if (has_bias && !blas_supports(product, operands)) return false;
  a.copy_in();
  b.copy_in();
  if (copies_bias) pad(t.bias.reshape({1, p.n}), bias);
  if (p.adds && grows) pad(t.added, added);
  blas_matmul(product, operands);
  if (y.copied > 0) cut(y.taken, t.y);
  return true;
}

}  // namespace headroom::engine::cuda
