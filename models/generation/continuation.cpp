#include "models/generation/continuation.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"

namespace headroom::models {

const char* name_of(Ending ending) {
  constexpr const char* names[] = {"end of text", "stop string", "as many tokens as were asked for",
                                   "the context is full"};
  return names[static_cast<size_t>(ending)];
}

Continuation::Continuation(const std::vector<int32_t>& prompt, const GenerationOptions& options,
                           const Tokenizer& tokenizer, const TextLimits& limits,
                           std::function<bool(std::string_view)> show)
    : tokenizer_(tokenizer),
      limits_(limits),
      show_(std::move(show)),
      max_tokens_(options.max_tokens),
      ignores_eos_(options.ignore_eos),
      sampler_(options.sampling),
      stream_(options.stops),
      tokens_(prompt) {
  require(!prompt.empty(), "generate: the prompt is empty");
  require(max_tokens_ >= 0, "generate: {} tokens cannot be generated", max_tokens_);
  for (const int32_t id : prompt)
    require(id >= 0 && id < limits.vocab, "generate: token {} is not in the model's vocabulary of {}", id,
            limits.vocab);
  const auto length = static_cast<int64_t>(prompt.size());
  require(length < limits.context, "generate: the prompt has {} tokens, the model's context is {}", length,
          limits.context);
}

bool Continuation::give(const std::string& text) {
  out_.text += text;
  return text.empty() || !show_ || show_(text);
}

void Continuation::take(int64_t id) {
  out_.tokens.push_back(static_cast<int32_t>(id));
  tokens_.push_back(static_cast<int32_t>(id));
  if (!ignores_eos_ && std::find(limits_.ends.begin(), limits_.ends.end(), id) != limits_.ends.end()) {
    out_.ending = Ending::end_token, goes_on_ = false;
    return;
  }
  // Ids between the tokenizer's last and the model's are padding of the matrix: they have no text.
  goes_on_ = id >= tokenizer_.vocab_size() || give(stream_.push(tokenizer_.token_bytes(id)));
  if (stream_.stopped() || !goes_on_) out_.ending = Ending::stop_string, goes_on_ = false;
  else if (static_cast<int64_t>(tokens_.size()) >= limits_.context) out_.ending = Ending::context, goes_on_ = false;
}

Generation Continuation::finish() {
  give(stream_.finish());
  return std::move(out_);
}

}  // namespace headroom::models
