#pragma once
#include "models/transformer.h"
#include "tests/support/distance.h"

// A decoder of two layers, and what else tests of small models draw.
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

/// With weights of one seed.
inline Transformer build(const TransformerConfig& config, engine::DType dtype = engine::DType::f32) {
  engine::Rng rng(3);
  return Transformer(config, rng, dtype);
}

/// Of a normal distribution.
inline Tensor random(const Shape& shape, uint64_t seed, engine::DType dtype = engine::DType::f32) {
  return engine::random_normal(shape, 0, 1, engine::Rng(seed).take("x", shape.numel()), dtype);
}

/// Ids below `vocab`, (B, T).
inline Tensor random_tokens(int64_t batch, int64_t length, int64_t vocab = 11) {
  return engine::random_integers({batch, length}, 0, vocab, engine::Rng(5).take("data", batch * length));
}

/// (2, 4)
inline Tensor tokens() { return Tensor::from<int64_t>({2, 4}, {1, 2, 3, 4, 6, 5, 0, 1}); }

}  // namespace headroom::models
