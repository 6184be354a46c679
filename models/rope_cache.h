#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/ops/rope/rope.h"
#include "models/config.h"

namespace headroom::models {

/// The inverse frequencies of a group of heads of a layer: its own, or base^(-2i/qk_dim) after the config's scaling; of
/// layers with a window those of window_rope_base, where there is one.
std::vector<double> rope_frequencies(const TransformerConfig& config, const HeadGroup& group, int64_t layer);

/// The turns of heads that share their frequencies: a table of the positions 0, 1, …, which grows as longer sequences
/// come. Earlier tables stay, at most as many positions in all as the latest has: a recording may read them. May serve
/// many threads.
class RopeTurns {
 public:
  /// The table will be where the context's device is now.
  RopeTurns(const std::vector<double>& frequencies, bool interleaved, engine::DType dtype);
  /// Those of the positions [begin, end).
  engine::RopeTable rows(int64_t begin, int64_t end) const;
  /// Those of positions i64 (T) on the table's device, all below `end`.
  engine::RopeTable at(const engine::Tensor& positions, int64_t end) const;

 private:
  /// The table of at least `end` positions.
  engine::RopeTable table(int64_t end) const;

  engine::Tensor frequencies_;  ///< f64 (D/2)
  bool interleaved_;
  engine::DType dtype_;
  engine::Device device_;
  mutable std::mutex growing_;
  mutable std::vector<engine::RopeTable> tables_;  ///< the last is the longest
};

/// One RopeTurns for each list of frequencies in a model.
class RopeCache {
 public:
  RopeCache(bool interleaved, engine::DType dtype) : interleaved_(interleaved), dtype_(dtype) {}
  std::shared_ptr<const RopeTurns> turns_of(const std::vector<double>& frequencies);

 private:
  bool interleaved_;
  engine::DType dtype_;
  std::map<std::vector<double>, std::shared_ptr<const RopeTurns>> turns_;
};

}  // namespace headroom::models
