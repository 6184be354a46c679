#include "models/generation/batch_generator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "models/generation/generator.h"

namespace headroom::models {
namespace {

struct GrowingText {
  Continuation text;
  std::optional<ModelCache> state;  ///< none: the text has ended
  Tensor logits;                    ///< f32 (V), of the next token
};

}  // namespace

size_t independent_rows(const Transformer& model) {
  return model.device().is_cpu() && !model.has_wide_matrices() ? rows_together : 1;
}

void decode_one_each(const Transformer& model, std::span<const NextToken> texts, size_t at_once) {
  for (; !texts.empty(); texts = texts.subspan(std::min(at_once, texts.size()))) {
    const auto own = texts.first(std::min(at_once, texts.size()));
    std::vector<int64_t> latest;
    std::vector<SequenceRows> rows;
    for (const NextToken& text : own) {
      latest.push_back(text.latest);
      rows.push_back({.begin = std::ssize(rows), .end = std::ssize(rows) + 1, .state = text.state});
    }
    const Tensor ids = Tensor::from({1, std::ssize(latest)}, latest);                                  // (1, T)
    const Tensor logits = model.decode_together(ids.to(model.device()), rows).to(engine::DType::f32);  // (1, T, V)
    for (size_t i = 0; i < own.size(); ++i)
      *own[i].logits = logits.slice(1, rows[i].begin, rows[i].end).reshape({logits.dim(2)});  // (V)
  }
}

BatchGenerator::BatchGenerator(const Transformer& model, const Tokenizer& tokenizer,
                               const ModelDescription& description, const CacheTypes& types)
    : model_(model), tokenizer_(tokenizer), limits_(text_limits(model, tokenizer, description)), types_(types) {}

BatchGeneration BatchGenerator::generate(const std::vector<std::vector<int32_t>>& prompts,
                                         const GenerationOptions& options) const {
  std::vector<GrowingText> texts;
  GenerationOptions own = options;
  for (const std::vector<int32_t>& prompt : prompts) {
    texts.push_back({Continuation(prompt, own, tokenizer_, limits_), {}, {}});
    ++own.sampling.seed;
  }
  BatchGeneration out;
  std::map<std::vector<int32_t>, const GrowingText*> computed;
  auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start, now)).count();
  };
  std::vector<GrowingText*> growing;
  for (size_t i = 0; i < texts.size(); ++i) {
    GrowingText& text = texts[i];
    if (!text.text.goes_on()) continue;
    growing.push_back(&text);
    const auto [same, is_new] = computed.emplace(prompts[i], &text);
    if (!is_new) {
      text.state = same->second->state->copy();
      text.logits = same->second->logits;
      continue;
    }
    text.state.emplace(model_.config(), true, types_);
    text.state->reserve(std::min(limits_.context, static_cast<int64_t>(prompts[i].size()) + options.max_tokens));
    text.logits = logits_behind(model_, prompts[i], 0, *text.state);
    out.prompt_tokens += static_cast<int64_t>(prompts[i].size());
  }
  for (bool is_first = true; !growing.empty(); is_first = false) {
    for (GrowingText* text : growing) {
      text->text.take(text->text.sampler().next(text->logits, text->text.tokens()));
      if (!text->text.goes_on()) text->state.reset();
    }
    if (is_first) out.prompt_seconds = seconds();
    std::erase_if(growing, [](const GrowingText* text) { return !text->state; });
    std::vector<NextToken> next;
    for (GrowingText* text : growing) next.push_back({text->text.tokens().back(), &*text->state, &text->logits});
    decode_one_each(model_, next, rows_together);
  }
  for (GrowingText& text : texts) {
    out.texts.push_back(text.text.finish());
    out.texts.back().prompt_tokens = static_cast<int64_t>(text.text.tokens().size() - out.texts.back().tokens.size());
  }
  out.decode_seconds = seconds();
  return out;
}

}  // namespace headroom::models
