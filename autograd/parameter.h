#pragma once
#include <string>

#include "autograd/var.h"

namespace headroom::autograd {

/// A trainable leaf, with its dotted path ("blocks.2.attention.0.q_proj.weight") and its weight-decay flag: models
/// provide them, an optimizer's arena takes them.
struct Parameter {
  std::string name;
  Var var;
  bool decays = true;           ///< matrices; biases, norms, positions and slopes do not
  bool joins_previous = false;  ///< an arena leaves no gap before it, so that joint_linear() finds neighbours()
};

}  // namespace headroom::autograd
