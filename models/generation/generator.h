#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/generation/continuation.h"
#include "models/generation/recorded_decoder.h"
#include "models/model_cache.h"
#include "models/tokenizers/tokenizer.h"
#include "models/transformer.h"

namespace headroom::models {

/// What ends its texts: the tokens that its files name so, and those of its vocabulary that are called so. Throws Error
/// when the tokenizer has more ids than the model.
TextLimits text_limits(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description);
/// Logits f32 (vocab), on the model's device, after the last of the tokens, of which the state holds those before
/// `begin` alone. Few hundred tokens are computed at a time, which bounds the memory of their activations.
Tensor logits_behind(const Transformer& model, const std::vector<int32_t>& tokens, int64_t begin, ModelCache& state);

/// Generates text with a key-value cache. What a prompt has in common with the tokens that the cache holds is not
/// computed again, so that a conversation costs only its new turns. On a GPU, in a StreamScope, each token is one
/// recorded graph (RecordedDecoder), unless a repetition penalty looks at what occurred. Not to be shared between
/// threads.
class Generator {
 public:
  /// The model and tokenizer must live as long as this. `note` is called once, with why, where the tokens of a device
  /// cannot be recorded. `types` is how keys and values are held, on the CPU. Throws Error when the tokenizer has more
  /// ids than the model, and as ModelCache does.
  Generator(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description,
            std::function<void(const std::string&)> note = {}, const CacheTypes& types = {});

  /// Continues the prompt. `show` gets the text as it comes, whole characters only; false from it ends generation as a
  /// stop string does. Throws Error when the prompt is empty, has an id outside the vocabulary, or fills the context.
  Generation generate(const std::vector<int32_t>& prompt, const GenerationOptions& options,
                      const std::function<bool(std::string_view)>& show = {});

  /// Empties the cache: the next prompt is computed whole.
  void reset();

 private:
  /// How many of the tokens need not be computed again.
  int64_t held_of(const std::vector<int32_t>& tokens) const;
  /// Forgets all but the first tokens of the cache.
  void keep(int64_t tokens);
  /// The token that follows.
  int64_t next(const std::vector<int32_t>& tokens, Sampler& sampler);
  /// Logits (vocab) after the last of the tokens, of which the cache holds some.
  Tensor logits_after(const std::vector<int32_t>& tokens);

  const Transformer& model_;
  const Tokenizer& tokenizer_;
  TextLimits limits_;
  ModelCache state_;
  RecordedDecoder recorded_;
  std::vector<int32_t> held_;  ///< what state_ has seen
};

}  // namespace headroom::models
