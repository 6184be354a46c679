#pragma once
#include <compare>
#include <cstdint>
#include <vector>

#include "engine/dtype.h"

namespace headroom::engine {

/// `batch` products of one shape: op(A) (m, k) · op(B) (k, n) → (m, n), stored as (k, m) and (n, k) if transposed.
struct Product {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  int64_t batch = 1;
  DType dtype = DType::f32;  ///< of A and B
  double share = 1;          ///< fraction of the results needed: half for causal attention

  /// Counts a multiply-add as 2.
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(batch) *
           share;
  }
  auto operator<=>(const Product&) const = default;
};

/// The least work a run of an op needs, however it is computed.
struct Work {
  std::vector<Product> products{};
  double exponentials = 0;
  double bytes = 0;  ///< of memory read or written

  double flops() const {
    double sum = 0;
    for (const Product& product : products) sum += product.flops();
    return sum;
  }
  auto operator<=>(const Work&) const = default;
};

}  // namespace headroom::engine
