#pragma once
#include "autograd/var.h"
#include "engine/ops/dropout/dropout.h"

namespace headroom::autograd {

/// x / (1-p) with probability 1-p, else 0; random_bits(key, i) decides element i. p = 0 is the identity.
Var dropout(const Var& x, double p, const engine::RngKey& key);

/// x + dropout(y), of one shape: on a GPU in one pass over memory.
Var add_dropped(const Var& x, const Var& y, const engine::Dropout& dropout);
/// The same where `sum`, its value, is known.
Var known_sum(const Tensor& sum, const Var& x, const Var& y, const engine::Dropout& dropout);

}  // namespace headroom::autograd
