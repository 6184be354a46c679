#include "experiments/program/answer/text_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/error.h"
#include "models/costs.h"
#include "models/generation/batch_generator.h"
#include "models/model_cache.h"

namespace headroom::experiments {
namespace {

constexpr std::chrono::milliseconds patience{500};
/// Texts whose keys and values take more than this wait for others to end; one always fits.
constexpr int64_t most_cache_bytes = int64_t{160} << 20;
/// A waiting text takes some kilobytes.
constexpr size_t most_texts_waiting = 1 << 14;

}  // namespace

bool TextBatch::is_done_locked() const {
  require(error_.empty(), "{}", error_);
  return std::all_of(outputs_.begin(), outputs_.end(), [](const TextOutput& one) { return one.is_done; });
}

bool TextBatch::is_done() const {
  const std::lock_guard lock(mutex_);
  return is_done_locked();
}

bool TextBatch::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return is_done_locked(); });
  return is_done_locked();
}

struct TextService::Text {
  std::shared_ptr<TextBatch> batch;
  size_t index;
  TextOrder order;
  std::optional<models::Continuation> continuation{};  ///< none: the prompt is only scored
  std::optional<models::ModelCache> state{};           ///< none: nothing, or one token only, is generated
  engine::Tensor logits{};                             ///< f32 (V), of the next token
  bool is_over = false;

  /// Changes its output, which others may read.
  template <class F>
  void change(const F& f) {
    {
      const std::lock_guard lock(batch->mutex_);
      f(batch->outputs_[index]);
    }
    batch->changed_.notify_all();
  }
};

TextService::TextService(const models::Transformer& model, const models::Tokenizer& tokenizer,
                         const models::ModelDescription& description, const models::CacheTypes& types, int64_t parallel)
    : model_(model),
      tokenizer_(tokenizer),
      limits_(models::text_limits(model, tokenizer, description)),
      types_(types),
      parallel_(static_cast<size_t>(parallel)),
      rows_together_(models::independent_rows(model)),
      token_bytes_(models::cache_bytes(model.config(), types)) {}

TextService::~TextService() = default;

std::shared_ptr<TextBatch> TextService::add(const std::vector<TextOrder>& orders) {
  if (const std::lock_guard lock(mutex_); waiting_.size() + orders.size() > most_texts_waiting) return nullptr;
  const auto batch = std::make_shared<TextBatch>(orders.size());
  std::deque<std::unique_ptr<Text>> texts;
  for (const TextOrder& order : orders) {
    auto text = std::make_unique<Text>(Text{batch, texts.size(), order});
    const int64_t length = std::ssize(order.prompt);
    const auto is_id = [&](int32_t id) { return id >= 0 && id < limits_.vocab; };
    if (order.options.max_tokens > 0) {
      Text* const own = text.get();
      text->continuation.emplace(order.prompt, order.options, tokenizer_, limits_, [own](std::string_view more) {
        own->change([&](TextOutput& output) { output.text += more; });
        return true;
      });
    } else {
      require(length > 0, "the prompt is empty");
      require(std::all_of(order.prompt.begin(), order.prompt.end(), is_id),
              "the prompt has an id outside the model's vocabulary of {}", limits_.vocab);
      require(length <= limits_.context, "the prompt has {} tokens, the model's context is {}", length,
              limits_.context);
    }
    batch->outputs_[text->index].prompt_tokens = length;
    texts.push_back(std::move(text));
  }
  {
    const std::lock_guard lock(mutex_);
    std::move(texts.begin(), texts.end(), std::back_inserter(waiting_));
  }
  arrived_.notify_one();
  return batch;
}

int64_t TextService::bytes_of(const Text& text) const {
  const int64_t tokens = std::ssize(text.order.prompt) + text.order.options.max_tokens;
  return std::min(limits_.context, tokens) * token_bytes_;
}

/// Runs f(), which works on a text. An Error is that of its whole request.
template <class F>
void TextService::guarded(Text& text, const F& f) {
  try {
    if (!text.batch->is_cancelled_) return f();
  } catch (const std::exception& error) {
    const std::lock_guard lock(text.batch->mutex_);
    text.batch->error_ = error.what();
    text.batch->is_cancelled_ = true;
  }
  text.is_over = true;
  text.batch->changed_.notify_all();
}

void TextService::begin(Text& text) {
  const TextOrder& order = text.order;
  if (order.scores_prompt) {
    tasks::TextScores scores = tasks::score_text(model_, order.prompt, order.top.value_or(0));
    text.logits = scores.last;
    text.change([&](TextOutput& output) { output.prompt_scores = std::move(scores.tokens); });
  }
  if (!text.continuation) return finish(text);
  if (order.scores_prompt && order.options.max_tokens == 1) return;
  text.state.emplace(model_.config(), true, types_);
  text.state->reserve(std::min(limits_.context, std::ssize(order.prompt) + order.options.max_tokens));
  text.logits = models::logits_behind(model_, order.prompt, 0, *text.state);  // (V)
}

void TextService::take_token(Text& text) {
  models::Continuation& continuation = *text.continuation;
  const engine::Tensor logits = text.logits.to(engine::cpu);  // (V)
  const int64_t id = continuation.sampler().next(logits, continuation.tokens());
  std::optional<tasks::TokenScore> score;
  if (text.order.top)
    score = tasks::score_of(logits.data<float>(), logits.numel(), static_cast<int32_t>(id), *text.order.top);
  text.change([&](TextOutput& output) {
    ++output.new_tokens;
    if (score) output.scores.push_back(std::move(*score));
  });
  continuation.take(id);
  if (!continuation.goes_on()) finish(text);
}

void TextService::finish(Text& text) {
  models::Ending ending = models::Ending::max_tokens;
  if (text.continuation) ending = text.continuation->finish().ending;
  text.is_over = true;
  text.state.reset();
  text.change([&](TextOutput& output) {
    output.ending = ending;
    output.is_done = true;
  });
}

/// Begins waiting texts for which there is room. Waits for one if none grows.
void TextService::admit() {
  int64_t bytes = 0;
  for (const auto& text : growing_) bytes += bytes_of(*text);
  while (growing_.size() < parallel_) {
    std::unique_ptr<Text> text;
    {
      std::unique_lock lock(mutex_);
      if (growing_.empty()) arrived_.wait_for(lock, patience, [this] { return !waiting_.empty(); });
      if (waiting_.empty() || (bytes > 0 && bytes + bytes_of(*waiting_.front()) > most_cache_bytes)) return;
      text = std::move(waiting_.front());
      waiting_.pop_front();
    }
    guarded(*text, [&] { begin(*text); });
    if (text->is_over) continue;
    bytes += bytes_of(*text);
    growing_.push_back(std::move(text));
  }
}

void TextService::run(const std::atomic<bool>& ends) {
  const auto leave = [this] { std::erase_if(growing_, [](const auto& text) { return text->is_over; }); };
  while (!ends) {
    admit();
    for (const auto& text : growing_) guarded(*text, [&] { take_token(*text); });
    leave();
    try {
      std::vector<models::NextToken> next;
      for (const auto& text : growing_)
        next.push_back({text->continuation->tokens().back(), &*text->state, &text->logits});
      models::decode_one_each(model_, next, rows_together_);
    } catch (const std::exception& error) {
      for (const auto& text : growing_) guarded(*text, [&] { fail("{}", error.what()); });
      leave();
    }
  }
}

}  // namespace headroom::experiments
