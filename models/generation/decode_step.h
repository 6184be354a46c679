#pragma once
#include <cstdint>
#include <span>

#include "models/model_cache.h"
#include "models/transformer.h"

namespace headroom::models {

/// A text's next step.
struct NextToken {
  int64_t latest;     ///< its last token, which is not in its cache yet
  ModelCache* state;  ///< one of its own
  Tensor* logits;     ///< receives those of the token after it: f32 (V)
};

/// Up to so many rows a CPU's product with stored blocks or 16-bit numbers multiplies the weights as they lie, and adds
/// each row as if it were alone.
constexpr size_t rows_together = 8;

/// rows_together if a row's bits do not depend on the rows beside it; else 1.
size_t independent_rows(const Transformer& model);

/// Decodes one token of each text, up to `at_once` of them in one pass (Transformer::decode_together()).
void decode_one_each(const Transformer& model, std::span<const NextToken> texts, size_t at_once);

}  // namespace headroom::models
