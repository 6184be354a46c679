#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tasks/compression/layer_probe.h"
#include "tasks/measure/perplexity.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// A model's perplexity on a text, and its hidden states there, so that models that differ from it from some layer on
/// are run from that layer on and compared with it. Kept per token: D numbers of f32 before each layer, or before every
/// second, third, … one where that would take more than `most_bytes`.
class PerplexityBase {
 public:
  /// The model and the tokenizer must outlive it. Throws Error as measure_perplexity().
  PerplexityBase(const models::Transformer& base, const models::Tokenizer& tokenizer, std::vector<int32_t> tokens,
                 const PerplexityOptions& options, double most_bytes = 1e9);

  /// The base's own.
  const Perplexity& uncompressed() const { return uncompressed_; }
  /// That of a model which is the base below layer `first`, with its divergence from the base. Throws Error as
  /// measure_perplexity(). Several threads may call it.
  Perplexity measure(const models::Transformer& model, int64_t first) const;

 private:
  const models::Transformer& base_;
  const models::Tokenizer& tokenizer_;
  std::vector<int32_t> tokens_;
  PerplexityOptions options_;
  EnteringStates states_;
  Perplexity uncompressed_;
};

/// That of a text's tokens, in chunks of `context`; the model keeps it by the text's name, context and protocol.
std::shared_ptr<const PerplexityBase> perplexity_base(StudiedModel& model, const std::string& text,
                                                      std::span<const int32_t> tokens, int64_t context,
                                                      engine::Device device,
                                                      PerplexityProtocol protocol = PerplexityProtocol::disjoint);

}  // namespace headroom::tasks
