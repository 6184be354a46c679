#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::models {

/// Two neighbouring tokens become `result`; of all pairs in a text the one of the lowest rank goes first.
struct Merge {
  int32_t left = 0, right = 0, result = 0;
  uint32_t rank = 0;
};

/// Merges by their pair: open addressing with linear probing, at most half full, as encoding does little but look up.
class PairTable {
 public:
  /// Where several merges have the same pair, the first in the list counts.
  explicit PairTable(const std::vector<Merge>& merges);
  /// The merge of a pair; nullptr where there is none.
  const Merge* find(int32_t left, int32_t right) const;

 private:
  size_t slot(int32_t left, int32_t right) const;

  std::vector<Merge> slots_;  ///< left -1: free; a power of two of them
};

/// Replaces the bytes' ids by those of the merged tokens: repeatedly the pair of lowest rank, the leftmost first.
/// O(n log n) for any text.
void merge_pairs(const PairTable& table, std::vector<int32_t>& ids);

}  // namespace headroom::models
