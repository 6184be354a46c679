#include "models/tokenizers/pair_table.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <tuple>

#include "engine/error.h"

namespace headroom::models {

PairTable::PairTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(2 * merges.size() + 2), Merge{-1, -1, -1, 0}) {
  for (const Merge& merge : merges) {
    size_t at = slot(merge.left, merge.right);
    while (slots_[at].left >= 0 && (slots_[at].left != merge.left || slots_[at].right != merge.right))
      at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].left < 0) slots_[at] = merge;
  }
}

size_t PairTable::slot(int32_t left, int32_t right) const {
  uint64_t key = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  key *= 0x9e3779b97f4a7c15u;  // Fibonacci hashing: the upper bits are the well-mixed ones
  return static_cast<size_t>(key >> 32) & (slots_.size() - 1);
}

const Merge* PairTable::find(int32_t left, int32_t right) const {
  for (size_t at = slot(left, right); slots_[at].left >= 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].left == left && slots_[at].right == right) return &slots_[at];
  return nullptr;
}

namespace {

constexpr uint32_t no_rank = std::numeric_limits<uint32_t>::max();

/// A merge that was possible at a token when it was queued.
struct Candidate {
  uint32_t rank, at;
  int32_t result;
  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

/// A doubly linked list of tokens over arrays: a merged token stays at its left part's place.
struct Tokens {
  const PairTable& table;
  std::vector<int32_t>& ids;
  std::vector<uint32_t> next, previous;
  std::vector<uint32_t> rank;  ///< of the merge with the next token, no_rank where there is none
  std::vector<Candidate> heap;

  /// The merge of the token at `at` with its successor, if any, is queued.
  void offer(uint32_t at) {
    const uint32_t after = next[at];
    const Merge* merge = after < ids.size() ? table.find(ids[at], ids[after]) : nullptr;
    rank[at] = merge != nullptr ? merge->rank : no_rank;
    if (merge != nullptr) heap.push_back({merge->rank, at, merge->result});
  }

  void offer_and_sift(uint32_t at) {
    const size_t before = heap.size();
    offer(at);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
};

}  // namespace

void merge_pairs(const PairTable& table, std::vector<int32_t>& ids) {
  require(ids.size() < no_rank, "tokenizer: a piece of {} bytes is too long", ids.size());
  const auto count = static_cast<uint32_t>(ids.size());
  Tokens list{table, ids, std::vector<uint32_t>(count), std::vector<uint32_t>(count), std::vector<uint32_t>(count), {}};
  for (uint32_t at = 0; at < count; ++at) list.next[at] = at + 1, list.previous[at] = at - 1;
  for (uint32_t at = 0; at < count; ++at) list.offer(at);
  std::make_heap(list.heap.begin(), list.heap.end(), std::greater<>());
  while (!list.heap.empty()) {
    std::pop_heap(list.heap.begin(), list.heap.end(), std::greater<>());
    const Candidate best = list.heap.back();
    list.heap.pop_back();
    if (list.rank[best.at] != best.rank) continue;  // one of its two tokens has been merged since
    const uint32_t gone = list.next[best.at], after = list.next[gone];
    ids[best.at] = best.result;
    ids[gone] = -1;
    list.rank[gone] = no_rank;
    list.next[best.at] = after;
    if (after < count) list.previous[after] = best.at;
    list.offer_and_sift(best.at);
    if (best.at > 0) list.offer_and_sift(list.previous[best.at]);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), -1), ids.end());
}

}  // namespace headroom::models
