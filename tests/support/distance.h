#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/tensor.h"
#include "tests/support/catch.h"

namespace headroom::testing {

/// Largest |a - b| of two tensors of one shape.
inline double distance(const engine::Tensor& a, const engine::Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

}  // namespace headroom::testing
