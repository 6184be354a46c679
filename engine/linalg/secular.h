#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::engine::linalg {

/// The singular values of the matrix with first row z and diagonal d below it (d₀ = 0 < d₁ < …, all z ≠ 0): the roots ω
/// of 1 + Σ z_j²/(d_j² - ω²) = 0. Value k is d[base[k]] + offset[k], which keeps its distance to every d_j accurate.
struct SecularRoots {
  std::vector<int64_t> base;
  std::vector<double> offset;

  /// ω_k - d_j.
  double gap(const std::vector<double>& d, int64_t k, int64_t j) const {
    const auto b = static_cast<size_t>(base[static_cast<size_t>(k)]);
    return (d[b] - d[static_cast<size_t>(j)]) + offset[static_cast<size_t>(k)];
  }
  double value(const std::vector<double>& d, int64_t k) const {
    return d[static_cast<size_t>(base[static_cast<size_t>(k)])] + offset[static_cast<size_t>(k)];
  }
};
/// Li, "Solving secular equations stably and efficiently" (1993): the middle way, kept inside a bracket. In parallel.
SecularRoots solve_secular(const std::vector<double>& d, const std::vector<double>& z);

}  // namespace headroom::engine::linalg
