#include "engine/ops/rope/rope.h"

#include <cmath>
#include <type_traits>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/rope/rope_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

void check(const Tensor& x, const Tensor& positions, double base) {
  check_floating("rope", {&x});
  if (x.rank() != 4 || x.dim(3) % 2 != 0) fail("rope: wants x (B, T, H, D) with an even D: x {}", x.shape().str());
  const bool shared = positions.defined() && positions.shape() == Shape{x.dim(1)};
  const bool own = positions.defined() && positions.shape() == Shape{x.dim(0), x.dim(1)};
  if (!(shared || own) || positions.dtype() != DType::i64)
    fail("rope: positions {}, wants i64 ({}) or ({}, {}): x {}", positions.str(), x.dim(1), x.dim(0), x.dim(1),
         x.shape().str());
  require(base > 0 && std::isfinite(base), "rope: base {} is not a positive number", base);
}

/// cos and signed sin of every element's angle at one position: -sin for the first of a pair, sin for the second.
template <class T>
void angles(double position, const double* frequency, double turn, int64_t dim, bool interleaved, T* cosine, T* sine) {
  for (int64_t i = 0; i < dim / 2; ++i) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + dim / 2;
    const double angle = position * frequency[i];
    cosine[first] = cosine[second] = static_cast<T>(std::cos(angle));
    sine[second] = static_cast<T>(turn * std::sin(angle));
    sine[first] = -sine[second];
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

/// `turn` is 1, or -1 for the gradient.
Tensor rotate(const Tensor& x_in, const Tensor& positions_in, double base, bool interleaved, double turn) {
  check(x_in, positions_in, base);
  const Tensor x = x_in.contiguous(), positions = positions_in.contiguous();
  const int64_t batch = x.dim(0), length = x.dim(1), heads = x.dim(2), dim = x.dim(3), span = heads * dim;
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Tensor frequency = Tensor::empty({dim / 2}, DType::f64);
  for (int64_t i = 0; i < dim / 2; ++i)
    frequency.mutable_data<double>()[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
  const int64_t rows = positions.numel();
  visit_real("rope", x, [&](auto zero) {
    using T = decltype(zero);
    const Tensor table = Tensor::empty({rows, 2, dim}, x.dtype());
    parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* cosine = table.mutable_data<T>() + row * 2 * dim;
        angles(static_cast<double>(positions.data<int64_t>()[row]), frequency.data<double>(), turn, dim, interleaved,
               cosine, cosine + dim);
      }
    });
    parallel_ranges(batch * length, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T *cosine = table.data<T>() + row % rows * 2 * dim, *from = x.data<T>() + row * span;
        T* to = y.mutable_data<T>() + row * span;
        if constexpr (std::is_same_v<T, float>)
          if (!reference_only()) {
            kernel::rope_rows(from, to, cosine, cosine + dim, heads, dim, interleaved);
            continue;
          }
        rotate_reference(from, to, cosine, cosine + dim, heads, dim, interleaved);
      }
    });
  });
  return y;
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& positions, double base, bool interleaved) {
  return rotate(x, positions, base, interleaved, 1);
}

Tensor rope_grad(const Tensor& dy, const Tensor& positions, double base, bool interleaved) {
  return rotate(dy, positions, base, interleaved, -1);
}

}  // namespace headroom::engine
