#pragma once
#include "autograd/var.h"
#include "engine/rng.h"

namespace headroom::autograd {

/// x / (1-p) with probability 1-p, else 0; random_bits(key, i) decides element i. p = 0 is the identity.
Var dropout(const Var& x, double p, const engine::RngKey& key);

}  // namespace headroom::autograd
