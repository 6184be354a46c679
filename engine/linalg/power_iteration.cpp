#include "engine/linalg/power_iteration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/error.h"
#include "engine/linalg/dense.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// x / ‖x‖; returns the norm.
double normalise(double* x, int64_t n) {
  const double length = norm(n, x);
  if (length > 0)
    for (int64_t i = 0; i < n; ++i) x[i] /= length;
  return length;
}

}  // namespace

PowerIteration power_iteration(const Tensor& a, const PowerOptions& options) {
  const Stack stack = stack_of("power_iteration", "a", a);
  const int64_t m = stack.rows, n = stack.columns;
  require(options.tolerance > 0, "power_iteration: tolerance is {}: expected > 0", options.tolerance);
  require(options.most_iterations >= 1, "power_iteration: most_iterations is {}: expected >= 1",
          options.most_iterations);
  require(m > 0 && n > 0, "power_iteration: a {} is empty", a);
  const std::vector<double> start = random_normal({n + n % 2}, 0, 1, options.start, DType::f64).to_vector<double>();
  const Output sigma(stack, 1), u(stack, m), v(stack, n), residual(stack, 1);
  const Tensor iterations = Tensor::zeros(stack.leading, DType::i64);  // (…)
  parallel_for(stack.count, [&](int64_t i) {
    const Dense x = stack.dense(i);
    double *const left = u.at(i), *const right = v.at(i);
    std::vector<double> next(static_cast<size_t>(n));
    std::copy_n(start.begin(), n, right);
    normalise(right, n);
    for (int64_t step = 1; step <= options.most_iterations; ++step) {
      std::fill_n(left, m, 0.0);
      kernel::add_times(m, n, x.view().data, m, right, left);  // (m)
      const double value = *sigma.at(i) = normalise(left, m);
      iterations.mutable_data<int64_t>()[i] = step;
      if (value == 0) break;
      kernel::transposed_times(m, n, x.view().data, m, left, next.data());  // (n)
      double squares = 0;
      for (int64_t j = 0; j < n; ++j) {
        const double off = next[static_cast<size_t>(j)] / value - right[j];
        squares += off * off;
      }
      *residual.at(i) = std::sqrt(squares);
      if (*residual.at(i) <= options.tolerance) break;
      std::copy_n(next.begin(), n, right);
      normalise(right, n);
    }
  });
  return {sigma.finish().reshape(stack.leading), u.finish(), v.finish(), residual.finish().reshape(stack.leading),
          iterations};
}

}  // namespace headroom::engine::linalg
