#include "models/generation/generator.h"

#include <algorithm>
#include <chrono>

#include "engine/error.h"
#include "models/generation/text_stream.h"

namespace headroom::models {
namespace {

/// Tokens of a prompt that are computed at a time: what bounds the memory of its activations.
constexpr int64_t prompt_chunk = 512;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::end_token:
      return "end of text";
    case Ending::stop_string:
      return "stop string";
    case Ending::max_tokens:
      return "as many tokens as were asked for";
    case Ending::context:
      break;
  }
  return "the context is full";
}

Generator::Generator(const Transformer& model, const Tokenizer& tokenizer, const ModelDescription& description,
                     std::function<void(const std::string&)> note, const CacheTypes& types)
    : model_(model),
      tokenizer_(tokenizer),
      ends_(description.eos),
      context_(description.context),
      state_(model.config(), !engine::Recording::is_possible(model.device()),
             types),  // what is recorded keeps its place
      recorded_(model, std::move(note)) {
  require(tokenizer.vocab_size() <= model.config().vocab,
          "the tokenizer {} has {} tokens, the model's vocabulary {}: they do not belong together", tokenizer.name(),
          tokenizer.vocab_size(), model.config().vocab);
}

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
  int64_t begin = held_of(tokens);
  keep(begin);
  const auto end = static_cast<int64_t>(tokens.size());
  while (begin < end) {
    const int64_t next = std::min(end, begin + prompt_chunk);
    const std::vector<int64_t> ids(tokens.begin() + begin, tokens.begin() + next);
    const Tensor logits = model_.decode(Tensor::from({1, next - begin}, ids), state_, {}, 1);
    logits_ = logits.to(engine::DType::f32).reshape({logits.dim(-1)});  // (V)
    held_.insert(held_.end(), tokens.begin() + begin, tokens.begin() + next);
    begin = next;
  }
  return logits_;
}

Generation Generator::generate(const std::vector<int32_t>& prompt, const GenerationOptions& options,
                               const std::function<bool(std::string_view)>& show) {
  require(!prompt.empty(), "generate: the prompt is empty");
  require(options.max_tokens >= 0, "generate: {} tokens cannot be generated", options.max_tokens);
  const int64_t vocab = model_.config().vocab;
  for (const int32_t id : prompt)
    require(id >= 0 && id < vocab, "generate: token {} is not in the model's vocabulary of {}", id, vocab);
  const auto length = static_cast<int64_t>(prompt.size());
  require(length < context_, "generate: the prompt has {} tokens, the model's context is {}", length, context_);
  Sampler sampler(options.sampling);
  TextStream stream(options.stops);
  Generation out;
  out.prompt_tokens = length - held_of(prompt);
  const auto give = [&](const std::string& text) {
    out.text += text;
    return text.empty() || !show || show(text);
  };
  std::vector<int32_t> tokens = prompt;
  auto start = std::chrono::steady_clock::now();
  bool goes_on = true;
  while (goes_on && static_cast<int64_t>(out.tokens.size()) < options.max_tokens) {
    const bool is_first = out.tokens.empty();
    const int64_t id = next(tokens, sampler);  // waits for the device
    if (is_first) {
      out.prompt_seconds = seconds_since(start);
      start = std::chrono::steady_clock::now();
    }
    out.tokens.push_back(static_cast<int32_t>(id));
    tokens.push_back(static_cast<int32_t>(id));
    if (!options.ignore_eos && std::find(ends_.begin(), ends_.end(), id) != ends_.end()) {
      out.ending = Ending::end_token;
      break;
    }
    // Ids between the tokenizer's last and the model's are padding of the matrix: they have no text.
    goes_on = id >= tokenizer_.vocab_size() || give(stream.push(tokenizer_.token_bytes(id)));
    if (stream.stopped() || !goes_on) out.ending = Ending::stop_string, goes_on = false;
    else if (static_cast<int64_t>(tokens.size()) >= context_) out.ending = Ending::context, goes_on = false;
  }
  give(stream.finish());
  out.decode_seconds = seconds_since(start);
  return out;
}

}  // namespace headroom::models
