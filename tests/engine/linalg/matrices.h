#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"
#include "engine/tensor.h"
#include "tests/support/distance.h"

/// Matrices and distances for the tests of engine/linalg.
namespace headroom::testing {

using engine::DType;
using engine::Shape;
using engine::Tensor;

inline Tensor random_matrix(const Shape& shape, uint64_t seed, DType dtype = DType::f64) {
  return engine::random_normal(shape, 0, 1, engine::Rng(seed).take("matrix", shape.numel() + 1), dtype);
}

/// max |qᵀ·q - I| over a stack.
inline double defect(const Tensor& q) {
  const Tensor gram = engine::matmul(q, q, true, false);
  const std::vector<double> x = gram.to_vector<double>();
  const int64_t n = gram.dim(-1);
  double largest = 0;
  for (int64_t i = 0; i < gram.numel(); ++i) {
    const double wanted = i / n % n == i % n ? 1 : 0;
    largest = std::max(largest, apart(x[static_cast<size_t>(i)], wanted));
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

/// Singular values by one-sided Jacobi in long double: eleven bits more than what is tested.
inline std::vector<double> reference_values(const Tensor& a) {
  const auto m = static_cast<size_t>(a.dim(0)), n = static_cast<size_t>(a.dim(1));
  const std::vector<double> values = a.to_vector<double>();
  std::vector<std::vector<long double>> x(n, std::vector<long double>(m));
  for (size_t i = 0; i < m * n; ++i) x[i % n][i / n] = values[i];
  const auto inner = [&](size_t p, size_t q) {
    long double sum = 0;
    for (size_t i = 0; i < m; ++i) sum += x[p][i] * x[q][i];
    return sum;
  };
  for (bool any = true; any;) {
    any = false;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const long double g = inner(p, q), dp = inner(p, p), dq = inner(q, q);
        if (std::abs(g) <= 1e-17L * std::sqrt(dp) * std::sqrt(dq)) continue;
        any = true;
        const long double zeta = (dq - dp) / (2 * g);
        const long double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(zeta * zeta + 1)), zeta);
        const long double c = 1 / std::sqrt(t * t + 1), s = c * t;
        for (size_t i = 0; i < m; ++i) {
          const long double u = x[p][i], v = x[q][i];
          x[p][i] = c * u - s * v;
          x[q][i] = s * u + c * v;
        }
      }
    }
  }
  std::vector<double> out(n);
  for (size_t j = 0; j < n; ++j) out[j] = static_cast<double>(std::sqrt(inner(j, j)));
  std::sort(out.rbegin(), out.rend());
  return out;
}

/// max |s / wanted - 1|.
inline double worst_relative(const std::vector<double>& s, const std::vector<double>& wanted) {
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, apart(s[i] / wanted[i], 1));
  return worst;
}

}  // namespace headroom::testing
