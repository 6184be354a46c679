#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/generation/sampler.h"
#include "models/generation/text_stream.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

struct GenerationOptions {
  SamplingOptions sampling{};
  int64_t max_tokens = 256;          ///< limit on new tokens
  std::vector<std::string> stops{};  ///< an answer ends before any of these texts
  bool ignore_eos = false;           ///< treat end tokens like any other
};

/// Why generation ended.
enum class Ending { end_token, stop_string, max_tokens, context };
/// "end of text", …
const char* name_of(Ending ending);

struct Generation {
  std::vector<int32_t> tokens;  ///< the new tokens, including an end token
  std::string text;             ///< their text, without end tokens and stop strings
  Ending ending = Ending::max_tokens;
  int64_t prompt_tokens = 0;                      ///< prompt tokens that had to be computed
  double prompt_seconds = 0, decode_seconds = 0;  ///< the first new token counts towards the prompt
};

/// The limits of a model's texts.
struct TextLimits {
  std::vector<int64_t> ends;  ///< its end tokens
  int64_t context = 0, vocab = 0;
};

/// A prompt and its continuation, token by token, until the text ends.
class Continuation {
 public:
  /// Tokenizer and limits must outlive it. `show` as Generator::generate()'s. Throws Error if the prompt is empty, has
  /// an id outside the vocabulary or fills the context, and as Sampler and TextStream do.
  Continuation(const std::vector<int32_t>& prompt, const GenerationOptions& options, const Tokenizer& tokenizer,
               const TextLimits& limits, std::function<bool(std::string_view)> show = {});

  bool goes_on() const { return goes_on_ && static_cast<int64_t>(out_.tokens.size()) < max_tokens_; }
  /// Adds the next token; only while the text is not finished.
  void take(int64_t id);
  /// Prompt and new tokens.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  Sampler& sampler() { return sampler_; }
  /// The result, without prompt counts and times; shows any text still held back.
  Generation finish();

 private:
  bool give(const std::string& text);

  const Tokenizer& tokenizer_;
  const TextLimits& limits_;
  std::function<bool(std::string_view)> show_;
  int64_t max_tokens_;
  bool ignores_eos_, goes_on_ = true;
  Sampler sampler_;
  TextStream stream_;
  std::vector<int32_t> tokens_;
  Generation out_;
};

}  // namespace headroom::models
