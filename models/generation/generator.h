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

/// The model's text limits: the end tokens that its files declare, and those that its vocabulary calls so. Throws Error
/// if the tokenizer has more ids than the model.
TextLimits text_limits(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description);
/// Logits f32 (vocab), on the model's device, after the last token; the state already holds the tokens before `begin`.
/// Computes a few hundred tokens at a time to bound the activations' memory.
Tensor logits_behind(const Transformer& model, const std::vector<int32_t>& tokens, int64_t begin, ModelCache& state);

/// Generates text with a key-value cache. It reuses the prefix that a prompt shares with the cached tokens, so a
/// conversation costs only its new turns. On a GPU, in a StreamScope, each token is one recorded graph
/// (RecordedDecoder), unless a repetition penalty needs the past tokens. Not to be shared between threads.
class Generator {
 public:
  /// The model and tokenizer must outlive it. Calls `note` once, with the reason, if a device's tokens cannot be
  /// recorded. `types`: the cache's formats, on the CPU only. Throws Error if the tokenizer has more ids than the
  /// model, and as ModelCache does.
  Generator(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description,
            std::function<void(const std::string&)> note = {}, const CacheTypes& types = {});

  /// Continues the prompt. `show` gets the text as it comes, in whole characters; if it returns false, generation ends
  /// as with a stop string. Throws Error if the prompt is empty, has an id outside the vocabulary or fills the context.
  Generation generate(const std::vector<int32_t>& prompt, const GenerationOptions& options,
                      const std::function<bool(std::string_view)>& show = {});

  /// Empties the cache: the next prompt is computed from its start.
  void reset();

 private:
  /// The number of leading tokens already in the cache.
  int64_t held_of(const std::vector<int32_t>& tokens) const;
  /// Truncates the cache to its first tokens.
  void keep(int64_t tokens);
  /// Chooses the next token.
  int64_t next(const std::vector<int32_t>& tokens, Sampler& sampler);
  /// Logits (vocab) after the last token; the cache may hold some of the tokens.
  Tensor logits_after(const std::vector<int32_t>& tokens);

  const Transformer& model_;
  const Tokenizer& tokenizer_;
  TextLimits limits_;
  ModelCache state_;
  RecordedDecoder recorded_;
  std::vector<int32_t> held_;  ///< the tokens in state_
};

}  // namespace headroom::models
