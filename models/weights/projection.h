#pragma once
#include "models/weights/module.h"
#include "models/weights/source.h"

namespace headroom::models {

/// What a Projection is made as.
struct ProjectionShape {
  int64_t in = 1, out = 1;
  bool bias = false;
  int64_t rank = 0;          ///< > 0: two factors in place of the matrix
  bool ends_branch = false;  ///< its product is added to the residual stream: see Initializer::weight
  int64_t heads = 1;         ///< with factors of their own
};

/// y = x · Wᵀ + b with a Weight in any form.
class Projection : public Module {
 public:
  /// Asks for "weight" (or "weight_a" and "weight_b") and then "bias".
  Projection(const ProjectionShape& shape, const WeightScope& scope);
  /// W and b (undefined: none) as they are.
  explicit Projection(Weight weight, Var bias = {});

  /// (…, in) → (…, out). `pads_rows`, for logits: see engine::linear().
  Var forward(const Var& x, bool pads_rows = false) const;
  const Weight& weight() const { return weight_; }
  /// (out) or undefined.
  const Var& bias() const { return bias_; }
  std::string describe() const override;

 private:
  Weight weight_;  ///< (out, in)
  Var bias_;
};

/// x through several projections, one after the other: (…, in) → (…, Σ out), as one product. Undefined where it must be
/// several: on the CPU, where the one's gradient of x would add in another order (and saves nothing), and unless all
/// weights, and all biases or none, are neighbours in an arena.
Var joint_forward(const std::vector<const Projection*>& projections, const Var& x);

}  // namespace headroom::models
