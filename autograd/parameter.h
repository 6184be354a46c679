#pragma once
#include <string>

#include "autograd/var.h"

namespace headroom::autograd {

/// A leaf to train, with its dotted path ("blocks.2.attention.0.q_proj.weight") and whether weight decay applies to it:
/// what a model gives and an optimizer's arena takes.
struct Parameter {
  std::string name;
  Var var;
  bool decays = true;  ///< matrices; biases, norms, positions and slopes do not
};

}  // namespace headroom::autograd
