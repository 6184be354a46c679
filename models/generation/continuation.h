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
  int64_t max_tokens = 256;          ///< at most this many new ones
  std::vector<std::string> stops{};  ///< texts before which an answer ends
  bool ignore_eos = false;           ///< an end token is one like any other
};

/// Why generation ended.
enum class Ending { end_token, stop_string, max_tokens, context };
/// "end of text", …
const char* name_of(Ending ending);

struct Generation {
  std::vector<int32_t> tokens;  ///< the new ones, an end token among them
  std::string text;             ///< theirs, without what is not shown: end tokens, stop strings
  Ending ending = Ending::max_tokens;
  int64_t prompt_tokens = 0;                      ///< of the prompt, those that had to be computed
  double prompt_seconds = 0, decode_seconds = 0;  ///< the first new token counts towards the prompt
};

/// What ends texts of a model.
struct TextLimits {
  std::vector<int64_t> ends;  ///< its end tokens
  int64_t context = 0, vocab = 0;
};

/// A prompt and what comes behind it, token by token, until the text ends.
class Continuation {
 public:
  /// Tokenizer and limits must live as long as this. `show` as Generator::generate()'s. Throws Error when the prompt is
  /// empty, has an id outside the vocabulary or fills the context, and as Sampler and TextStream do.
  Continuation(const std::vector<int32_t>& prompt, const GenerationOptions& options, const Tokenizer& tokenizer,
               const TextLimits& limits, std::function<bool(std::string_view)> show = {});

  bool goes_on() const { return goes_on_ && static_cast<int64_t>(out_.tokens.size()) < max_tokens_; }
  /// The next token, while the text goes on.
  void take(int64_t id);
  /// Prompt and new tokens.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  Sampler& sampler() { return sampler_; }
  /// What came, without counts of the prompt and times; text that waited is shown.
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
