#include "engine/joined_sums.h"

#include <utility>

#include "engine/side_stream.h"
#include "engine/switch.h"

namespace headroom::engine {
namespace {

/// What this thread's sums have left so far.
struct Waiting {
  int64_t depth = 0;  ///< how many JoinedSums live
  std::vector<ChunkSums> sums;
  Tensor x, columns;
  uint32_t version = 0;  ///< of x
  bool wants_columns = false;
};
thread_local Waiting waiting;

void run(const std::vector<ChunkSums>& sums) {
  JoinCall call{sums[0].chunks, sums};
  join_op.check(call);
  join_op.run(call);
}

}  // namespace

Op<JoinCall> join_op{"join", {}};

Work JoinCall::work() const {
  Work work;
  for (const ChunkSums& sum : sums) work.bytes += bytes_of(sum.chunks) + bytes_of(sum.to);
  return work;
}

bool joins_gradients() {
  static const bool joins = !is_off("HEADROOM_JOINED_GRADIENTS");
  return joins;
}

JoinedSums::JoinedSums() { ++waiting.depth; }

JoinedSums::~JoinedSums() {
  if (--waiting.depth == 0) waiting = {};
}

void JoinedSums::join(const std::vector<ChunkSums>& sums, bool may_wait) {
  if (may_wait && waiting.depth > 0) waiting.sums.insert(waiting.sums.end(), sums.begin(), sums.end());
  else run(sums);
}

void JoinedSums::finish() {
  if (waiting.sums.empty()) return;
  join_side();  // which made some of the chunks
  run(std::exchange(waiting.sums, {}));
}

void JoinedSums::want_columns(bool wanted) { waiting.wants_columns = wanted && waiting.depth > 0; }

bool JoinedSums::wants_columns() { return waiting.wants_columns; }

void JoinedSums::keep_columns(const Tensor& x, const Tensor& chunks) {
  waiting.x = x, waiting.columns = chunks, waiting.version = x.version();
}

Tensor JoinedSums::take_columns(const Tensor& x) {
  const Tensor& known = waiting.x;
  const bool is_it = known.defined() && x.shares_storage(known) && x.raw() == known.raw() &&
                     x.numel() == known.numel() && x.dim(-1) == known.dim(-1) && x.is_contiguous() &&
                     x.version() == waiting.version;
  if (!is_it) return Tensor();
  waiting.x = Tensor();
  return std::exchange(waiting.columns, Tensor());
}

}  // namespace headroom::engine
