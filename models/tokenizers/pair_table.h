#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::models {

/// Turns two neighbouring tokens into `result`; in a text, the pair with the lowest rank merges first.
struct Merge {
  int32_t left = 0, right = 0, result = 0;
  uint32_t rank = 0;
};

/// Merges by their pair: open addressing with linear probing, at most half full, since encoding is mostly lookups.
class PairTable {
 public:
  /// If several merges have the same pair, the first in the list counts.
  explicit PairTable(const std::vector<Merge>& merges);
  /// The merge of a pair; nullptr if none.
  const Merge* find(int32_t left, int32_t right) const;

 private:
  size_t slot(int32_t left, int32_t right) const;

  std::vector<Merge> slots_;  ///< left -1: free; their number is a power of two
};

/// Merges ids in place: repeatedly the pair of lowest rank, leftmost first. O(n log n) for any text.
void merge_pairs(const PairTable& table, std::vector<int32_t>& ids);

}  // namespace headroom::models
