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

/// Decodes tokens on a GPU with a CUDA graph of a token's whole work, from its embedding to the choice of the next. The
/// first two tokens run op by op, the third is recorded, later ones are replayed, with the same tokens and bits of
/// logits. Per-token values are in a TokenState on the device; the host reads the chosen token. Records again when the
/// caches have grown, doubling their memory, or when tokens are chosen differently. Threads: one at a time.
class RecordedDecoder {
 public:
  /// The model must outlive it. Calls `note` once, with the reason, if a token cannot be recorded.
  explicit RecordedDecoder(const Transformer& model, std::function<void(const std::string&)> note = {});

  /// True if next() may be called: the device can record on this thread's stream and has not failed to.
  bool is_possible() const;
  /// Decodes `token` after the state's tokens (not empty, one sequence) and returns the token that `draw` chooses; -1
  /// if none is possible. Returns nothing if recording fails: the state is then unchanged and is_possible() stays
  /// false. Pass the same state each time, and do not assign to it meanwhile.
  std::optional<int64_t> next(int64_t token, ModelCache& state, const TokenDraw& draw);
  /// The logits behind the latest token: f32 (V) on the device, valid until the next call of next().
  const Tensor& logits() const { return logits_; }
  bool is_recorded() const { return recorder_ && recorder_->turn() == engine::Recorder::Turn::replayed; }

 private:
  void decode(ModelCache& state, const TokenDraw& draw);

  const Transformer& model_;
  std::function<void(const std::string&)> note_;
  bool has_failed_ = false;
  std::optional<engine::Recorder> recorder_;
  Tensor token_;              ///< TokenState, on the device
  engine::TokenState there_;  ///< its contents
  TokenDraw drawn_{};         ///< how the recording chooses tokens
  int64_t capacity_ = 0;      ///< of the recording's caches
  Tensor logits_;
};

}  // namespace headroom::models
