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
  /// Elements checked per input, chosen by `cotangent`; 0 = all. An input with more is checked along one random
  /// direction too, which no wrong element escapes.
  int64_t elements = 0;
};

/// "(1, 0, 3)": the index of the row-major element `flat`, as messages name it.
std::string element_name(const Shape& shape, int64_t flat);

/// What a gradient check found. `message` names the worst element.
struct GradcheckResult {
  bool ok = true;
  double worst = 0;  ///< largest scaled difference
  std::string message;
};

/// Compares the tape's gradients of <u, f(inputs)>, u a random cotangent, with central differences, for the elements of
/// every input that requires a gradient. All floating inputs must be f64; a sum() instead of u would be blind to
/// whatever leaves a total unchanged, such as softmax. `f` must be deterministic. Throws Error when no input requires a
/// gradient, or when an input or the result is f32.
GradcheckResult gradcheck(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs,
                          const engine::RngKey& cotangent, const GradcheckOptions& options = {});

}  // namespace headroom::autograd
