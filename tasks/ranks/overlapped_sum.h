#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <unordered_set>
#include <vector>

#include "autograd/optim/arena.h"
#include "tasks/ranks/ranks.h"
#include "tasks/ranks/tree_sum.h"

namespace headroom::tasks {

/// Parameters [first, end) of an arena, whose gradients are summed over ranks at once.
struct Bucket {
  size_t first, end;
};

/// A bucket's bytes, or somewhat more. A fast network takes 0.3 ms for as many, a slow one 30, which is far above any
/// latency, and what has to wait for the last gradient of a bucket is little.
inline constexpr int64_t bucket_bytes = int64_t{4} << 20;

/// Cuts an arena into buckets of at least `bytes`, the one whose gradients a backward pass has first in front: a model
/// reads its parameters in the order of `in_order`, which has each of the arena's once. A parameter is never cut.
std::vector<Bucket> buckets_of(const autograd::ParameterArena& arena, const std::vector<autograd::Parameter>& in_order,
                               int64_t bytes = bucket_bytes);

/// The sum of a step's gradients over ranks, made by a thread of its own while the backward pass of a rank's last part
/// goes on: bucket by bucket, in their order, which is the same on all ranks, and to the bits of TreeSum::add() and
/// sum_over() of the whole. Until wait() returns nothing else may be said to a rank. On the CPU.
class OverlappedSum {
 public:
  /// `tree` has the sums of the rank's parts before `part`, its last; all must outlive this.
  OverlappedSum(Ranks& ranks, const autograd::ParameterArena& arena, const TreeSum& tree, int64_t part,
                const std::vector<Bucket>& buckets);
  /// Ends the thread, after the bucket that it is summing: the others come to that, or are gone.
  ~OverlappedSum();
  OverlappedSum(const OverlappedSum&) = delete;
  OverlappedSum& operator=(const OverlappedSum&) = delete;

  /// The gradient of a leaf is final: what Var::backward() says.
  void finish(const autograd::Var& leaf);
  /// All gradients are, also those that no op has given. Returns when arena.gradients() are the sum. Throws the Error
  /// of a rank that is gone.
  void wait();

 private:
  /// Hands the next bucket to the thread.
  void hand_over();
  void sum_all() const;

  Ranks& ranks_;
  const autograd::ParameterArena& arena_;
  const TreeSum& tree_;
  const int64_t part_;
  const std::vector<Bucket>& buckets_;
  std::unordered_set<const autograd::Node*> finished_;
  size_t next_;                        ///< parameter of the next bucket that is not known to be final
  std::vector<engine::Tensor> flats_;  ///< the gradients of each bucket, set when it is handed over
  std::atomic<uint32_t> handed_{0};    ///< buckets that the thread may sum; above their number: none any more
  std::future<void> thread_;
};

}  // namespace headroom::tasks
