#include "models/generation/generator.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "engine/error.h"

namespace headroom::models {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Names of tokens that end an answer, as llama.cpp's list of them (llama-vocab.cpp) has them: many files name the end
/// of a text alone, and a turn of a chat ends with another token.
constexpr const char* end_names =
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> </s> <end_of_turn> <|endoftext|> <|eom_id|> "
    "<EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <\uff5cend\u2581of\u2581sentence\uff5c>";

std::vector<int64_t> end_tokens(const Tokenizer& tokenizer, const ModelDescription& description) {
  std::vector<int64_t> ends = description.eos;
  std::istringstream names(end_names);
  for (std::string name = description.eos_text; !name.empty() || names >> name; name.clear()) {
    const std::optional<int32_t> id = tokenizer.id_of(name);
    // In Harmony's vocabulary a message ends with <|end|>, and the answer goes on.
    const bool goes_on = name == "<|end|>" && tokenizer.id_of("<|return|>") && tokenizer.id_of("<|call|>");
    if (id && !goes_on && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
  return ends;
}

}  // namespace

TextLimits text_limits(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description) {
  require(tokenizer.vocab_size() <= model.config().vocab,
          "the tokenizer {} has {} tokens, the model's vocabulary {}: they do not belong together", tokenizer.name(),
          tokenizer.vocab_size(), model.config().vocab);
  return {end_tokens(tokenizer, description), description.context, model.config().vocab};
}

Tensor logits_behind(const Transformer& model, const std::vector<int32_t>& tokens, int64_t begin, ModelCache& state) {
  constexpr int64_t at_once = 512;
  Tensor logits;
  state.expect(static_cast<int64_t>(tokens.size()));
  for (const auto end = static_cast<int64_t>(tokens.size()); begin < end;) {
    const int64_t next = std::min(end, begin + at_once);
    const std::vector<int64_t> ids(tokens.begin() + begin, tokens.begin() + next);
    logits = model.decode(Tensor::from({1, next - begin}, ids), state, {}, 1);  // (1, 1, V)
    begin = next;
  }
  return logits.to(engine::DType::f32).reshape({logits.dim(-1)});
}

Generator::Generator(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description,
                     std::function<void(const std::string&)> note, const CacheTypes& types)
    : model_(model),
      tokenizer_(tokenizer),
      limits_(text_limits(model, tokenizer, description)),
      state_(model.config(), !engine::Recording::is_possible(model.device()),
             types),  // recorded work keeps its place
      recorded_(model, std::move(note)) {}

void Generator::reset() {
  state_.reset();
  held_.clear();
}

int64_t Generator::held_of(const std::vector<int32_t>& tokens) const {
  const auto [shared, other] = std::mismatch(held_.begin(), held_.end(), tokens.begin(), tokens.end());
  // The last token is computed again even where it is held, for its logits.
  const int64_t held = std::min<int64_t>(shared - held_.begin(), static_cast<int64_t>(tokens.size()) - 1);
  return state_.can_go_back(held) ? held : 0;
}

void Generator::keep(int64_t tokens) {
  if (tokens == 0) return reset();
  state_.truncate(tokens);
  held_.resize(static_cast<size_t>(tokens));
}

int64_t Generator::next(const std::vector<int32_t>& tokens, Sampler& sampler) {
  const int64_t held = held_of(tokens);
  const bool is_one = held > 0 && held + 1 == static_cast<int64_t>(tokens.size());
  if (!is_one || sampler.has_penalty() || !recorded_.is_possible()) return sampler.next(logits_after(tokens), tokens);
  keep(held);
  const TokenDraw draw = sampler.draw();
  if (const std::optional<int64_t> id = recorded_.next(tokens.back(), state_, draw)) {
    held_.push_back(tokens.back());
    return Sampler::checked(*id, recorded_.logits());
  }
  const Tensor logits = logits_after(tokens);
  return Sampler::checked(static_cast<int64_t>(engine::choose_token(logits, draw.filter, draw.key).item()), logits);
}

Tensor Generator::logits_after(const std::vector<int32_t>& tokens) {
  const int64_t held = held_of(tokens);
  keep(held);
  const Tensor logits = logits_behind(model_, tokens, held, state_);  // (V)
  held_.insert(held_.end(), tokens.begin() + held, tokens.end());
  return logits;
}

Generation Generator::generate(const std::vector<int32_t>& prompt, const GenerationOptions& options,
                               const std::function<bool(std::string_view)>& show) {
  Continuation text(prompt, options, tokenizer_, limits_, show);
  const int64_t computed = static_cast<int64_t>(prompt.size()) - held_of(prompt);
  double prompt_seconds = 0;
  auto start = std::chrono::steady_clock::now();
  for (bool is_first = true; text.goes_on(); is_first = false) {
    const int64_t id = next(text.tokens(), text.sampler());  // waits for the device
    if (is_first) {
      prompt_seconds = seconds_since(start);
      start = std::chrono::steady_clock::now();
    }
    text.take(id);
  }
  Generation out = text.finish();
  out.prompt_tokens = computed;
  out.prompt_seconds = prompt_seconds, out.decode_seconds = seconds_since(start);
  return out;
}

}  // namespace headroom::models
