#pragma once
#include <functional>
#include <string>
#include <vector>

#include "autograd/var.h"
#include "engine/rng.h"

namespace headroom::autograd {

struct GradcheckOptions {
  double step = 1e-5;       ///< relative central-difference step: h = step · max(1, |x|)
  double tolerance = 1e-6;  ///< on |analytic - numeric| / max(1, |numeric|), after the rounding noise of the difference
  /// Elements checked per input, chosen by `cotangent`; 0 = all. Larger inputs are also checked along one random
  /// direction, which catches any wrong element.
  int64_t elements = 0;
};

/// "(1, 0, 3)": the index of row-major element `flat`, for messages.
std::string element_name(const Shape& shape, int64_t flat);

/// The result of a gradient check. `message` names the worst element.
struct GradcheckResult {
  bool ok = true;
  double worst = 0;  ///< largest scaled difference
  std::string message;
};

/// Compares the tape's gradients of <u, f(inputs)>, u drawn from key `cotangent`, with central differences, for
/// elements of every input that requires a gradient. All floating inputs must be f64. A sum() instead of u would miss
/// anything that keeps the total, such as softmax. `f` must be deterministic. Throws Error if no input requires a
/// gradient, or if an input or the result is f32.
GradcheckResult gradcheck(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs,
                          const engine::RngKey& cotangent, const GradcheckOptions& options = {});

}  // namespace headroom::autograd
