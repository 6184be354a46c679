#include "tasks/ranks/overlapped_sum.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "engine/context.h"

namespace headroom::tasks {

using autograd::ParameterArena;

std::vector<Bucket> buckets_of(const ParameterArena& arena, const std::vector<autograd::Parameter>& in_order,
                               int64_t bytes) {
  std::unordered_map<const autograd::Node*, size_t> turns;
  for (const autograd::Parameter& parameter : in_order) turns.emplace(parameter.var.node().get(), turns.size());
  const auto turn = [&](size_t i) { return turns.at(arena.parameters()[i].var.node().get()); };
  const auto size = static_cast<int64_t>(size_of(arena.values().dtype()));
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < arena.parameters().size(); ++i) {
    // Start a new bucket if the arena returns to the first layer, as with parameters that do not decay: otherwise it
    // would be final only at the end.
    const bool is_full = buckets.empty() || turn(i) < turn(i - 1) ||
                         (arena.offset(i) - arena.offset(buckets.back().first)) * size >= bytes;
    if (is_full) buckets.push_back({i, i});
    buckets.back().end = i + 1;
  }
  std::sort(buckets.begin(), buckets.end(),
            [&](const Bucket& a, const Bucket& b) { return turn(a.first) > turn(b.first); });
  return buckets;
}

OverlappedSum::OverlappedSum(Ranks& ranks, const ParameterArena& arena, const TreeSum& tree, int64_t part,
                             const std::vector<Bucket>& buckets)
    : ranks_(ranks),
      arena_(arena),
      tree_(tree),
      part_(part),
      buckets_(buckets),
      next_(buckets.front().first),
      flats_(buckets.size()) {
  engine::Context own = engine::context();
  own.threads = 1;  // the backward pass has the others
  // If the system gives no more threads, wait() does the work.
  thread_ = std::async(std::launch::async | std::launch::deferred, [this, own] {
    const engine::ContextScope scope(own);
    sum_all();
  });
}

OverlappedSum::~OverlappedSum() {
  handed_.store(std::numeric_limits<uint32_t>::max(), std::memory_order_release);
  handed_.notify_one();
}

void OverlappedSum::finish(const autograd::Var& leaf) {
  finished_.insert(leaf.node().get());
  for (size_t i = handed_.load(std::memory_order_relaxed); i < buckets_.size(); i = handed_) {
    while (next_ < buckets_[i].end && finished_.contains(arena_.parameters()[next_].var.node().get())) ++next_;
    if (next_ < buckets_[i].end) return;
    hand_over();
  }
}

void OverlappedSum::wait() {
  while (handed_ < buckets_.size()) hand_over();
  thread_.get();
}

void OverlappedSum::hand_over() {
  const size_t i = handed_.load(std::memory_order_relaxed);
  flats_[i] = arena_.gradients(buckets_[i].first, buckets_[i].end);
  if (i + 1 < buckets_.size()) next_ = buckets_[i + 1].first;
  handed_.store(static_cast<uint32_t>(i + 1), std::memory_order_release);
  handed_.notify_one();
}

void OverlappedSum::sum_all() const {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    uint32_t handed = handed_.load(std::memory_order_acquire);
    for (; handed <= i; handed = handed_.load(std::memory_order_acquire))
      handed_.wait(handed, std::memory_order_acquire);
    if (handed > buckets_.size()) return;
    tree_.add(flats_[i], part_, arena_.offset(buckets_[i].first));
    sum_over(ranks_, flats_[i]);
  }
}

}  // namespace headroom::tasks
