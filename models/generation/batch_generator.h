#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/generation/continuation.h"
#include "models/transformer.h"

namespace headroom::models {

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
