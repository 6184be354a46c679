#include "engine/ops/rope/rope.h"

#include <cmath>
#include <type_traits>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/rope/rope_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

void check_heads(const Tensor& x) {
  check_floating("rope", {&x});
  if (x.rank() != 4 || x.dim(3) % 2 != 0) fail("rope: wants x (B, T, H, D) with an even D: x {}", x.shape().str());
}

/// Cosine and signed sine of every element's angle at one position: the sine is negative for the first of a pair.
template <class T>
void angles(double position, const double* frequency, int64_t dim, bool interleaved, T* cosine, T* sine, T* back) {
  for (int64_t i = 0; i < dim / 2; ++i) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + dim / 2;
    const double angle = position * frequency[i];
    cosine[first] = cosine[second] = static_cast<T>(std::cos(angle));
    sine[second] = back[first] = static_cast<T>(std::sin(angle));
    sine[first] = back[second] = -sine[second];
  }
}

/// The formula: `rows` rows at one position.
template <class T>
void rotate_reference(const T* x, T* y, const T* cosine, const T* sine, int64_t rows, int64_t dim, bool interleaved) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t e = 0; e < dim; ++e) {
      const int64_t partner = interleaved ? e ^ 1 : (e + dim / 2) % dim;
      y[row * dim + e] = x[row * dim + e] * cosine[e] + x[row * dim + partner] * sine[e];
    }
}

/// `sine` is the table's row: 1, or 2 for the turn back.
Tensor rotate(const Tensor& x_in, const RopeTable& table, int64_t sine) {
  check_heads(x_in);
  check_floating("rope", {&x_in, &table.angles});
  const int64_t batch = x_in.dim(0), length = x_in.dim(1), heads = x_in.dim(2), dim = x_in.dim(3), span = heads * dim;
  const Shape& shape = table.angles.shape();
  if (shape != Shape{length, 3, dim} && shape != Shape{batch, length, 3, dim})
    fail("rope: table {}, wants ({}, 3, {}) or ({}, {}, 3, {}): x {}", shape.str(), length, dim, batch, length, dim,
         x_in.shape().str());
  const Tensor x = x_in.contiguous(), turns = table.angles.contiguous();
  const Tensor y = Tensor::empty(x.shape(), x.dtype());  // (B, T, H, D)
  if (y.numel() == 0) return y;
  const int64_t rows = turns.numel() / (3 * dim);
  visit_real("rope", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(batch * length, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T *cosine = turns.data<T>() + row % rows * 3 * dim, *from = x.data<T>() + row * span;
        T* to = y.mutable_data<T>() + row * span;
        if constexpr (std::is_same_v<T, float>)
          if (!reference_only()) {
            kernel::rope_rows(from, to, cosine, cosine + sine * dim, heads, dim, table.interleaved);
            continue;
          }
        rotate_reference(from, to, cosine, cosine + sine * dim, heads, dim, table.interleaved);
      }
    });
  });
  return y;
}

}  // namespace

Tensor rope_frequencies(int64_t dim, double base) {
  require(dim >= 0 && dim % 2 == 0, "rope: {} elements are no pairs", dim);
  require(base > 0 && std::isfinite(base), "rope: base {} is not a positive number", base);
  const Tensor frequencies = Tensor::empty({dim / 2}, DType::f64);
  for (int64_t i = 0; i < dim / 2; ++i)
    frequencies.mutable_data<double>()[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
  return frequencies;
}

RopeTable rope_table(const Tensor& positions_in, const Tensor& frequencies_in, bool interleaved, DType dtype) {
  require(positions_in.defined() && positions_in.dtype() == DType::i64 &&
              (positions_in.rank() == 1 || positions_in.rank() == 2),
          "rope: positions {}, wants i64 (T) or (B, T)", positions_in.str());
  require(frequencies_in.defined() && frequencies_in.dtype() == DType::f64 && frequencies_in.rank() == 1,
          "rope: frequencies {}, wants f64 (D/2)", frequencies_in.str());
  require(dtype == DType::f32 || dtype == DType::f64, "rope: a table in {}, wants f32 or f64", name_of(dtype));
  const Tensor positions = positions_in.contiguous(), frequencies = frequencies_in.contiguous();
  const int64_t dim = 2 * frequencies.numel();
  Shape shape = positions.shape();
  shape.push_back(3);
  shape.push_back(dim);
  const Tensor table = Tensor::empty(shape, dtype);  // (T, 3, D) or (B, T, 3, D)
  if (table.numel() == 0) return {table, interleaved};
  visit_real("rope", table, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(positions.numel(), 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* cosine = table.mutable_data<T>() + row * 3 * dim;
        angles(static_cast<double>(positions.data<int64_t>()[row]), frequencies.data<double>(), dim, interleaved,
               cosine, cosine + dim, cosine + 2 * dim);
      }
    });
  });
  return {table, interleaved};
}

Tensor rope(const Tensor& x, const RopeTable& table) { return rotate(x, table, 1); }

Tensor rope_grad(const Tensor& dy, const RopeTable& table) { return rotate(dy, table, 2); }

RopeTable rope_table(const Tensor& x, const Tensor& positions, double base, bool interleaved) {
  check_heads(x);
  const bool shared = positions.defined() && positions.shape() == Shape{x.dim(1)};
  const bool own = positions.defined() && positions.shape() == Shape{x.dim(0), x.dim(1)};
  if (!(shared || own) || positions.dtype() != DType::i64)
    fail("rope: positions {}, wants i64 ({}) or ({}, {}): x {}", positions.str(), x.dim(1), x.dim(0), x.dim(1),
         x.shape().str());
  return rope_table(positions, rope_frequencies(x.dim(3), base), interleaved, x.dtype());
}

Tensor rope(const Tensor& x, const Tensor& positions, double base, bool interleaved) {
  return rope(x, rope_table(x, positions, base, interleaved));
}

}  // namespace headroom::engine
