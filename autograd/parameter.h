#pragma once
#include <string>

#include "autograd/var.h"

namespace headroom::autograd {

/// How a parameter lies in an arena on a GPU.
struct Placement {
  bool joins_previous = false;  ///< without a gap before it, so that joint_linear() finds neighbours()
  bool pads_rows = false;       ///< a matrix in padded_rows(), as linear() and its gradient take it
};

/// A trainable leaf, with its dotted path ("blocks.2.attention.0.q_proj.weight") and its weight-decay flag: models
/// provide them, an optimizer's arena takes them.
struct Parameter {
  std::string name;
  Var var;
  bool decays = true;  ///< matrices; biases, norms, positions and slopes do not
  Placement placement{};
};

}  // namespace headroom::autograd
