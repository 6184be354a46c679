#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/generation/continuation.h"
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

/// Texts generated together.
struct BatchGeneration {
  std::vector<Generation> texts;                  ///< one per prompt, without individual times
  int64_t prompt_tokens = 0;                      ///< tokens computed; equal prompts count once
  double prompt_seconds = 0, decode_seconds = 0;  ///< totals; each text's first new token counts towards the prompt
};

/// Generates several texts at once. Each step decodes one token of every unfinished text, up to 8 of them in one
/// product per weight (Transformer::decode_together()). Each text has its own key-value cache; equal prompts are
/// computed once and their caches copied. The texts match Generator's and do not depend on each other, except that
/// products with 32-bit matrices may add in another order.
class BatchGenerator {
 public:
  /// As Generator's.
  BatchGenerator(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description,
                 const CacheTypes& types = {});

  /// Continues every prompt; text i draws with options.sampling.seed + i. Throws Error as Generator::generate().
  BatchGeneration generate(const std::vector<std::vector<int32_t>>& prompts, const GenerationOptions& options) const;

 private:
  const Transformer& model_;
  const Tokenizer& tokenizer_;
  TextLimits limits_;
  CacheTypes types_;
};

}  // namespace headroom::models
