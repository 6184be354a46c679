#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/decoding/token_state.h"
#include "engine/recording.h"
#include "models/generation/sampler.h"
#include "models/model_cache.h"
#include "models/transformer.h"

namespace headroom::models {

/// Decodes token after token on a GPU: all of a token's work, from its embedding to the choice of the next one, is
/// queued op by op twice, then recorded, and from then on replayed as one CUDA graph, with the same tokens and the same
/// bits of the logits. What changes from token to token is a TokenState on the device; the host reads the chosen token.
/// It is recorded again when the caches have grown, which doubles their memory, and when tokens are chosen in another
/// way. Threads: one at a time.
class RecordedDecoder {
 public:
  /// The model must outlive it. `note` is called once, with why, where a token cannot be recorded.
  explicit RecordedDecoder(const Transformer& model, std::function<void(const std::string&)> note = {});

  /// Whether next() may be called: the model's device records on this thread's stream, and has not failed to.
  bool is_possible() const;
  /// Decodes `token` after what the state holds, which is not empty and of one sequence, and returns the token that
  /// `draw` chooses, -1 where none is possible. Nothing where that cannot be recorded: the state is then as it was, and
  /// is_possible() false from now on. It must be the same state each time, not assigned to meanwhile.
  std::optional<int64_t> next(int64_t token, ModelCache& state, const TokenDraw& draw);
  /// What the latest token was chosen from: f32 (V) on the device, until next() is called again.
  const Tensor& logits() const { return logits_; }
  bool is_recorded() const { return recorder_ && recorder_->turn() == engine::Recorder::Turn::replayed; }

 private:
  void decode(ModelCache& state, const TokenDraw& draw);

  const Transformer& model_;
  std::function<void(const std::string&)> note_;
  bool has_failed_ = false;
  std::optional<engine::Recorder> recorder_;
  Tensor token_;              ///< TokenState, on the device
  engine::TokenState there_;  ///< what it holds
  TokenDraw drawn_{};         ///< how tokens are chosen in the recording
  int64_t capacity_ = 0;      ///< of the caches in the recording
  Tensor logits_;
};

}  // namespace headroom::models
