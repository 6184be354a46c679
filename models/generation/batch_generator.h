#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/generation/continuation.h"
#include "models/transformer.h"

namespace headroom::models {

/// Several texts that were generated at once.
struct BatchGeneration {
  std::vector<Generation> texts;                  ///< one for each prompt, without times of their own
  int64_t prompt_tokens = 0;                      ///< that had to be computed: those of equal prompts once
  double prompt_seconds = 0, decode_seconds = 0;  ///< of all; the first new tokens count towards the prompts
};

/// Generates several texts at once: each step decodes a token of every text that has not ended, up to 8 of them with
/// one product for each weight (Transformer::decode_together()). Each text has a key-value cache of its own; equal
/// prompts are computed once, and their caches copied. The texts are those of Generator: the tokens of one do not
/// depend on the others, except that products with matrices of 32-bit numbers may add in another order.
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
