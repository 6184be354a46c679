#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace headroom::engine::linalg {

/// A function to be minimised: its value at x, and its gradient written to the second argument, which has x's size. A
/// value that is not finite is a step too long.
using Objective = std::function<double(const std::vector<double>&, std::vector<double>&)>;

/// When lbfgs() ends, and how many past steps its curvature comes from.
struct LbfgsOptions {
  int64_t steps = 1000;                                      ///< at most; 0 only evaluates
  int64_t memory = 20;                                       ///< pairs of steps and changes of the gradient
  double gradient = 1e-10;                                   ///< ends where no part of the gradient is above it
  double enough = -std::numeric_limits<double>::infinity();  ///< ends at a value of at most this
};

/// Where lbfgs() ended: the best point found.
struct Minimum {
  std::vector<double> x;
  double value = 0;
  int64_t steps = 0;
};

/// A local minimum of a smooth function, from `start`: limited-memory BFGS (Nocedal & Wright, "Numerical optimization",
/// 2nd ed., algorithms 7.4 and 7.5) with a line search for the strong Wolfe conditions (3.5 and 3.6; c₁ = 1e-4,
/// c₂ = 0.9). A line search that fails restarts along the gradient once, then ends: no step decreases the value by more
/// than its rounding. Deterministic. Throws Error where the value at `start` is not finite or a setting is not
/// positive.
Minimum lbfgs(const Objective& objective, std::vector<double> start, const LbfgsOptions& options = {});

}  // namespace headroom::engine::linalg
