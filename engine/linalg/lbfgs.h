#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace headroom::engine::linalg {

/// A function to minimise: returns its value at x and writes its gradient to the second argument, which has x's size. A
/// value that is not finite means the step was too long.
using Objective = std::function<double(const std::vector<double>&, std::vector<double>&)>;

/// Stopping rules of lbfgs(), and the number of past steps behind its curvature.
struct LbfgsOptions {
  int64_t steps = 1000;                                      ///< at most; 0 only evaluates
  int64_t memory = 20;                                       ///< pairs of steps and changes of the gradient
  double gradient = 1e-10;                                   ///< stops once no component of the gradient exceeds it
  double enough = -std::numeric_limits<double>::infinity();  ///< stops at a value of at most this
};

/// The result of lbfgs(): the best point found.
struct Minimum {
  std::vector<double> x;
  double value = 0;
  int64_t steps = 0;
};

/// Finds a local minimum of a smooth function from `start`: limited-memory BFGS (Nocedal & Wright, "Numerical
/// optimization", 2nd ed., algorithms 7.4 and 7.5) with a line search for the strong Wolfe conditions (3.5 and 3.6; c₁
/// = 1e-4, c₂ = 0.9). If a line search fails, it restarts along the gradient once, then stops: no step decreases the
/// value by more than its rounding. Deterministic. Throws Error if the value at `start` is not finite or a setting is
/// not positive.
Minimum lbfgs(const Objective& objective, std::vector<double> start, const LbfgsOptions& options = {});

}  // namespace headroom::engine::linalg
