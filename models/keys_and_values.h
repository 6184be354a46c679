#pragma once
#include <functional>

#include "autograd/var.h"
#include "engine/ops/attention/attention.h"
#include "models/cache_types.h"
#include "models/model_cache.h"
#include "models/rope_cache.h"

namespace headroom::models {

class HeadGroupLayer;

/// What one group of heads computes with for the tokens of a pass.
struct AttentionInputs {
  const HeadGroupLayer& heads;
  size_t layer = 0, group = 0;
  Tensor x{};  ///< (B, T, D): the layer's input, after its norm
  /// (B, T, H, d_qk), (B, T, projected_keys(), d_qk) before the rotary turn; q and k where there is none.
  Tensor raw_q, raw_k;
  Var q{}, k{}, v{};                   ///< (B, T, H, key_dim), (B, T, H_kv, key_dim), (B, T, H_kv, d_v)
  Var slopes{};                        ///< ALiBi's (H); undefined: none
  engine::AttentionOptions options{};  ///< without a key mask
};
using AttentionObserver = std::function<void(const AttentionInputs&)>;

/// A token that is decoded without the host: its position i64 (1) and the length i64 (1) of the text with it, both on
/// the device. See engine/decoding/token_state.h.
struct TokenPlace {
  Tensor position, length;
};

/// Where the tokens of a pass stand, and which keys and values their queries attend to: one of the functions below.
struct KeysAndValues {
  /// The rotary turns of the tokens.
  std::function<engine::RopeTable(const RopeTurns&, const AttentionInputs&)> turns;
  /// softmax(scale · q kᵀ + bias) v of one group of heads: (B, T, H, d_v).
  std::function<Var(AttentionInputs)> attend;
};

/// The place of a text's tokens: the first stands at `offset`, and rope frequencies are those of a text of `length`
/// tokens where that is more. `key_mask` bool (B, ≥ Tk) is of the last Tk keys; undefined: all may be attended.
struct TextPlace {
  Tensor key_mask{};
  int64_t offset = 0, length = 0;
};

/// The tokens attend to each other. The one way with a gradient and with dropout. `probabilities` gets softmax's
/// (B, H, T, T) of each group of heads, without dropout.
KeysAndValues own_keys(const TextPlace& place, std::vector<Tensor>* probabilities = nullptr);
/// The tokens are appended to a cache and attend to all that it holds and the window shows.
KeysAndValues cached_keys(ModelCache& cache, const TextPlace& place);
/// One token that only the device knows is put into a cache, which must have memory for it.
KeysAndValues recorded_keys(ModelCache& cache, const TokenPlace& place);
/// Each sequence attends to its own tokens: those before it in x, or those of its cache, which gets them.
KeysAndValues sequence_keys(const SequenceTokens& sequences);
/// As `inner`, with keys and values rounded as a cache of these types holds them. Without gradient.
KeysAndValues rounded_keys(const CacheTypes& types, const KeysAndValues& inner);
/// As `inner`, after a call of `observer` for each group of heads.
KeysAndValues observed_keys(const AttentionObserver& observer, const KeysAndValues& inner);

}  // namespace headroom::models
