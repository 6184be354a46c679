#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/generation/generator.h"
#include "tasks/measure/token_scores.h"

namespace headroom::experiments {

/// A prompt, and what to do with it.
struct TextOrder {
  std::vector<int32_t> prompt;
  models::GenerationOptions options;
  bool scores_prompt = false;
  std::optional<int64_t> top{};  ///< likeliest tokens to note beside each; none: tokens are not scored
};

/// What has become of an order so far.
struct TextOutput {
  std::string text;                              ///< new text, in whole characters
  std::vector<tasks::TokenScore> prompt_scores;  ///< of all but the prompt's first token, if they were asked for
  std::vector<tasks::TokenScore> scores;         ///< of the new tokens, if they were asked for
  int64_t prompt_tokens = 0, new_tokens = 0;     ///< an end token is a new token
  models::Ending ending = models::Ending::max_tokens;
  bool is_done = false;
};

/// The texts of one request. Safe to use from several threads.
class TextBatch {
 public:
  explicit TextBatch(size_t texts) : outputs_(texts) {}

  /// Calls f(output, index) for each text, while none changes.
  template <class F>
  void read(const F& f) const {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < outputs_.size(); ++i) f(outputs_[i], i);
  }
  /// Waits until all texts are done, or for half a second. Throws Error if one failed.
  bool wait() const;
  /// Throws Error if one failed. True if all texts are done.
  bool is_done() const;
  /// Its texts are no longer wanted.
  void cancel() { is_cancelled_ = true; }

 private:
  friend class TextService;
  bool is_done_locked() const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<TextOutput> outputs_;
  std::string error_;
  std::atomic<bool> is_cancelled_{false};
};

/// Scores and continues texts for many clients with one model, in one thread: texts join and leave between tokens. Each
/// is computed as if it were alone, so its bits do not depend on the others: a prompt passes through the model by
/// itself, and new tokens of several texts share a product only where a product of few rows adds as that of one row
/// (Transformer::decode_together()).
class TextService {
 public:
  /// All must outlive it. `parallel`: the maximum number of texts that grow at once.
  TextService(const models::Transformer& model, const models::Tokenizer& tokenizer,
              const models::ModelDescription& description, const models::CacheTypes& types, int64_t parallel);
  ~TextService();
  TextService(const TextService&) = delete;
  TextService& operator=(const TextService&) = delete;

  /// Queues the texts of a request; null if too many wait. Throws Error naming the first prompt that is empty, has an
  /// id outside the vocabulary or does not fit the context, and an option out of its range.
  std::shared_ptr<TextBatch> add(const std::vector<TextOrder>& orders);
  /// Works until `ends`, in the caller's context.
  void run(const std::atomic<bool>& ends);

 private:
  struct Text;
  using Texts = std::vector<std::unique_ptr<Text>>;
  void admit();
  void begin(Text& text);
  void take_token(Text& text);
  void finish(Text& text);
  int64_t bytes_of(const Text& text) const;
  template <class F>
  void guarded(Text& text, const F& f);

  const models::Transformer& model_;
  const models::Tokenizer& tokenizer_;
  const models::TextLimits limits_;
  const models::CacheTypes types_;
  const size_t parallel_, rows_together_;
  const int64_t token_bytes_;  ///< of the cache
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::unique_ptr<Text>> waiting_;
  Texts growing_;  ///< of the working thread alone
};

}  // namespace headroom::experiments
