#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"
#include "engine/tensor.h"

/// Matrices and distances for the tests of engine/linalg.
namespace headroom::testing {

using engine::DType;
using engine::Shape;
using engine::Tensor;

inline Tensor random_matrix(const Shape& shape, uint64_t seed, DType dtype = DType::f64) {
  return engine::random_normal(shape, 0, 1, engine::Rng(seed).take("matrix", shape.numel() + 1), dtype);
}

/// max |a - b|.
inline double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = x.size() == y.size() ? 0 : INFINITY;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= largest)) largest = std::abs(x[i] - y[i]);
  return largest;
}

/// max |qᵀ·q - I| over a stack.
inline double defect(const Tensor& q) {
  const Tensor gram = engine::matmul(q, q, true, false);
  const std::vector<double> x = gram.to_vector<double>();
  const int64_t n = gram.dim(-1);
  double largest = 0;
  for (int64_t i = 0; i < gram.numel(); ++i) {
    const double wanted = i / n % n == i % n ? 1 : 0;
    if (const double off = std::abs(x[static_cast<size_t>(i)] - wanted); !(off <= largest)) largest = off;
  }
  return largest;
}

/// The columns of x (…, m, n) times s (…, n).
inline Tensor scaled_columns(const Tensor& x, const Tensor& s) {
  std::vector<double> values = x.to_vector<double>();
  const std::vector<double> factors = s.to_vector<double>();
  const int64_t n = x.dim(-1), m = x.dim(-2);
  for (int64_t i = 0; i < x.numel(); ++i)
    values[static_cast<size_t>(i)] *= factors[static_cast<size_t>(i / (m * n) * n + i % n)];
  return Tensor::from<double>(x.shape(), values).to(x.dtype());
}

}  // namespace headroom::testing
