#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <unordered_set>
#include <vector>

#include "autograd/optim/arena.h"
#include "tasks/ranks/ranks.h"

namespace headroom::tasks {

/// Parameters [first, end) of an arena, whose gradients are summed over ranks together.
struct Bucket {
  size_t first, end;
};

/// The minimum size of a bucket in bytes. A fast network takes 0.3 ms for it, a slow one 30, far above any latency, and
/// little has to wait for a bucket's last gradient.
inline constexpr int64_t bucket_bytes = int64_t{4} << 20;

/// Cuts an arena into buckets of at least `bytes`, ordered by when a backward pass finishes their gradients: a model
/// reads its parameters in the order of `in_order`, which lists each of the arena's once. Never cuts a parameter.
std::vector<Bucket> buckets_of(const autograd::ParameterArena& arena, const std::vector<autograd::Parameter>& in_order,
                               int64_t bytes = bucket_bytes);

/// Sums a step's gradients over ranks in its own thread while the backward pass of a rank's last part runs: bucket by
/// bucket, in the same order on all ranks, with the bits of TreeSum::add() and sum_over() of the whole. Send nothing
/// else to any rank until wait() returns. On the CPU.
class OverlappedSum {
 public:
  /// `tree` holds the sums of the rank's parts before `part`, its last; all must outlive it.
  OverlappedSum(Ranks& ranks, const autograd::ParameterArena& arena, const TreeSum& tree, int64_t part,
                const std::vector<Bucket>& buckets);
  /// Stops the thread after its current bucket: the other ranks reach that one too, or are gone.
  ~OverlappedSum();
  OverlappedSum(const OverlappedSum&) = delete;
  OverlappedSum& operator=(const OverlappedSum&) = delete;

  /// Marks a leaf's gradient as final, as reported by Var::backward().
  void finish(const autograd::Var& leaf);
  /// Marks all gradients as final, including those no op produced, and waits until arena.gradients() are the sum.
  /// Throws the Error of a rank that is gone.
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
  size_t next_;                        ///< first parameter of the next bucket not known to be final
  std::vector<engine::Tensor> flats_;  ///< each bucket's gradients, set when it is handed over
  std::atomic<uint32_t> handed_{0};    ///< buckets that the thread may sum; above their number: stop
  std::future<void> thread_;
};

}  // namespace headroom::tasks
