#pragma once
#include "models/initializer.h"

namespace headroom::models {

/// y = x · Wᵀ + b.
class Linear : public Module {
 public:
  /// `ends_branch`: see Initializer::weight.
  Linear(int64_t in, int64_t out, bool bias, const Initializer& init, bool ends_branch = false);

  /// (…, in) → (…, out)
  Var forward(const Var& x) const;
  std::string describe() const override;

 private:
  Var weight_;  ///< (out, in)
  Var bias_;    ///< (out) or undefined
};

}  // namespace headroom::models
