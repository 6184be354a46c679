#pragma once
#include "models/weights/module.h"
#include "models/weights/source.h"

namespace headroom::models {

/// A Projection's shape and form.
struct ProjectionShape {
  int64_t in = 1, out = 1;
  bool bias = false;
  int64_t rank = 0;          ///< > 0: two factors instead of the matrix
  bool ends_branch = false;  ///< its product is added to the residual stream: see Initializer::weight
  int64_t heads = 1;         ///< each with its own factors
  autograd::Placement placement{};
};

/// y = x · Wᵀ + b with a Weight in any form.
class Projection : public Module {
 public:
  /// Creates "weight" (or "weight_a" and "weight_b"), then "bias".
  Projection(const ProjectionShape& shape, const WeightScope& scope);
  /// Uses W and b (undefined: none) as they are.
  explicit Projection(Weight weight, Var bias = {});

  /// (…, in) → (…, out). `pads_rows`: see engine::linear().
  Var forward(const Var& x, bool pads_rows = false) const;
  const Weight& weight() const { return weight_; }
  /// (out) or undefined.
  const Var& bias() const { return bias_; }
  std::string describe() const override;

 private:
  Weight weight_;  ///< (out, in)
  Var bias_;
};

/// Applies several projections to x as one product: (…, in) → (…, Σ out). Undefined if that is not possible: on the
/// CPU, where one product's gradient of x would add in another order and save nothing, and unless all weights, and all
/// biases or none, are neighbours in an arena.
Var joint_forward(const std::vector<const Projection*>& projections, const Var& x);

}  // namespace headroom::models
