#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/ops/rope/rope.h"
#include "models/config.h"

namespace headroom::models {

struct SequenceTokens;

/// The inverse frequencies of a layer's group of heads in a text of `length` tokens: its own, or base^(-2i/qk_dim) with
/// the config's scaling. Layers with a window use window_rope_base if set.
std::vector<double> rope_frequencies(const TransformerConfig& config, const HeadGroup& group, int64_t layer,
                                     int64_t length = 0);

/// The longest text with fixed frequencies in every layer: longrope and dynamic scaling change them beyond the original
/// length. The largest i64 if none changes.
int64_t rope_limit(const TransformerConfig& config);

/// The factor of a group's q·k: logit_scale or 1/√qk_dim, times the square of the layer's attention factor.
double score_scale(const TransformerConfig& config, const HeadGroup& group, int64_t layer);

/// The rotations of heads that share frequencies: a table for positions 0, 1, …, which grows with longer sequences.
/// Earlier tables stay, because a recording may read them; together they have at most as many positions as the latest.
/// May serve many threads.
class RopeTurns {
 public:
  /// The frequencies in a text of `length` tokens; constant up to `limit`.
  using Frequencies = std::function<std::vector<double>(int64_t length)>;
  /// Puts the table on the context's current device.
  RopeTurns(Frequencies frequencies, int64_t limit, bool interleaved, engine::DType dtype);
  /// Rows for positions [begin, end) in a text of `length` tokens, or of `end` if that is more.
  engine::RopeTable rows(int64_t begin, int64_t end, int64_t length = 0) const;
  /// Rows for positions i64 (T) on the table's device, all below `end`. Throws Error if `end` exceeds the limit.
  engine::RopeTable at(const engine::Tensor& positions, int64_t end) const;
  /// Rows for several sequences, one after the other.
  engine::RopeTable at(const SequenceTokens& sequences) const;

 private:
  engine::RopeTable made(const engine::Tensor& positions, int64_t length) const;
  /// The table with at least `end` positions.
  engine::RopeTable table(int64_t end) const;

  Frequencies frequencies_;
  int64_t limit_;
  bool interleaved_;
  engine::DType dtype_;
  engine::Device device_;
  mutable std::mutex growing_;
  mutable std::vector<engine::RopeTable> tables_;  ///< the last is the longest
  /// The last rows beyond the limit and their range: the next layer asks for them too.
  mutable engine::RopeTable beyond_;
  mutable std::array<int64_t, 3> beyond_is_{};
};

/// One RopeTurns per list of frequencies in a model.
class RopeCache {
 public:
  RopeCache(bool interleaved, engine::DType dtype) : interleaved_(interleaved), dtype_(dtype) {}
  /// The turns of a layer's group of heads.
  std::shared_ptr<const RopeTurns> turns_of(const TransformerConfig& config, const HeadGroup& group, int64_t layer);

 private:
  bool interleaved_;
  engine::DType dtype_;
  std::map<std::vector<double>, std::shared_ptr<const RopeTurns>> turns_;
};

}  // namespace headroom::models
