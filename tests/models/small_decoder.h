#pragma once
#include "models/transformer.h"
#include "tests/support/distance.h"

/// A decoder of two layers for the tests of weights and layers.
namespace headroom::models {

using testing::distance;

/// Widths are multiples of 32, so that its matrices have blocks.
inline TransformerConfig decoder() {
  TransformerConfig c;
  c.layers = 2;
  c.width = 32;
  c.groups = {{.heads = 2, .qk_dim = 16, .v_dim = 16}};
  c.max_length = 9;
  c.vocab = 7;
  c.tied = true;
  c.causal = true;
  c.ffn_width = 64;
  return c;
}

/// (2, 4)
inline Tensor tokens() { return Tensor::from<int64_t>({2, 4}, {1, 2, 3, 4, 6, 5, 0, 1}); }

}  // namespace headroom::models
