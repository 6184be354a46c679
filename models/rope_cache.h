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

/// The inverse frequencies of a group of heads of a layer in a text of `length` tokens: its own, or base^(-2i/qk_dim)
/// after the config's scaling; of layers with a window those of window_rope_base, where there is one.
std::vector<double> rope_frequencies(const TransformerConfig& config, const HeadGroup& group, int64_t layer,
                                     int64_t length = 0);

/// The longest text whose frequencies no layer changes with its length: those of longrope and dynamic change beyond the
/// original one. The largest i64 where none does.
int64_t rope_limit(const TransformerConfig& config);

/// What a group's q·k is multiplied by: logit_scale or 1/√qk_dim, times the square of the layer's attention factor.
double score_scale(const TransformerConfig& config, const HeadGroup& group, int64_t layer);

/// The turns of heads that share their frequencies: a table of the positions 0, 1, …, which grows as longer sequences
/// come. Earlier tables stay, at most as many positions in all as the latest has: a recording may read them. May serve
/// many threads.
class RopeTurns {
 public:
  /// The frequencies in a text of so many tokens; the same in all of up to `limit`.
  using Frequencies = std::function<std::vector<double>(int64_t length)>;
  /// The table will be where the context's device is now.
  RopeTurns(Frequencies frequencies, int64_t limit, bool interleaved, engine::DType dtype);
  /// Those of the positions [begin, end) in a text of `length` tokens, or of `end` where that is more.
  engine::RopeTable rows(int64_t begin, int64_t end, int64_t length = 0) const;
  /// Those of positions i64 (T) on the table's device, all below `end`. Throws Error where that is beyond the limit.
  engine::RopeTable at(const engine::Tensor& positions, int64_t end) const;
  /// Those of several sequences' rows, one after the other.
  engine::RopeTable at(const SequenceTokens& sequences) const;

 private:
  engine::RopeTable made(const engine::Tensor& positions, int64_t length) const;
  /// The table of at least `end` positions.
  engine::RopeTable table(int64_t end) const;

  Frequencies frequencies_;
  int64_t limit_;
  bool interleaved_;
  engine::DType dtype_;
  engine::Device device_;
  mutable std::mutex growing_;
  mutable std::vector<engine::RopeTable> tables_;  ///< the last is the longest
  /// The rows that were asked for last beyond the limit, which the next layer asks for, too, and what they were.
  mutable engine::RopeTable beyond_;
  mutable std::array<int64_t, 3> beyond_is_{};
};

/// One RopeTurns for each list of frequencies in a model.
class RopeCache {
 public:
  RopeCache(bool interleaved, engine::DType dtype) : interleaved_(interleaved), dtype_(dtype) {}
  /// Those of a group of heads of a layer.
  std::shared_ptr<const RopeTurns> turns_of(const TransformerConfig& config, const HeadGroup& group, int64_t layer);

 private:
  bool interleaved_;
  engine::DType dtype_;
  std::map<std::vector<double>, std::shared_ptr<const RopeTurns>> turns_;
};

}  // namespace headroom::models
