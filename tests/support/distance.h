#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/tensor.h"
#include "tests/support/catch.h"

namespace headroom::testing {

/// |a - b|; 0 for equal infinities or two NaN, infinite if just one of them is finite. Unlike a plain difference, a NaN
/// is not lost in std::max.
inline double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : HUGE_VAL;
}

/// Largest apart() of two tensors of one shape.
inline double distance(const engine::Tensor& a, const engine::Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, apart(x[i], y[i]));
  return worst;
}

/// distance(got, want) in units of the largest finite |want|; as it is, if that is 0.
inline double relative_distance(const engine::Tensor& got, const engine::Tensor& want) {
  double size = 0;
  for (const double x : want.to_vector<double>())
    if (std::isfinite(x)) size = std::max(size, std::abs(x));
  return size > 0 ? distance(got, want) / size : distance(got, want);
}

}  // namespace headroom::testing
