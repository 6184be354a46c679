#pragma once
#include "models/safetensors/safetensors.h"
#include "tests/peers/case.h"

namespace headroom::peers {

using models::NamedTensors;

/// A small Transformer with a random config and random weights on a random batch: its output y for a random cotangent
/// dy, and every parameter's value and gradient, as PREFIX.value.NAME and PREFIX.gradient.NAME. Returns its config.
Json write_transformer(Random& random, DType dtype, const std::string& prefix, NamedTensors& tensors);

}  // namespace headroom::peers
