#include "engine/joined_sums.h"

#include <utility>

#include "engine/side_stream.h"
#include "engine/switch.h"

namespace headroom::engine {
namespace {

/// What a kernel has made of x beside it, until somebody takes it.
class Beside {
 public:
  void keep(const Tensor& x, const Tensor& made) { x_ = x, made_ = made, version_ = x.version(); }
  Tensor take(const Tensor& x) {
    const bool is_it = x_.defined() && x.shares_storage(x_) && x.raw() == x_.raw() && x.numel() == x_.numel() &&
                       x.dim(-1) == x_.dim(-1) && x.is_contiguous() && x.version() == version_;
    if (!is_it) return Tensor();
    x_ = Tensor();
    return std::exchange(made_, Tensor());
  }

 private:
  Tensor x_, made_;
  uint32_t version_ = 0;  ///< of x
};

/// What this thread's sums have left so far.
struct Waiting {
  int64_t depth = 0;  ///< how many JoinedSums live
  std::vector<ChunkSums> sums;
  Beside columns, dropped;
  bool wants_columns = false;
  Dropout wanted_dropout;
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

void JoinedSums::keep_columns(const Tensor& x, const Tensor& chunks) { waiting.columns.keep(x, chunks); }

Tensor JoinedSums::take_columns(const Tensor& x) { return waiting.columns.take(x); }

void JoinedSums::want_dropout(const Dropout& dropout) {
  waiting.wanted_dropout = waiting.depth > 0 ? dropout : Dropout();
}

Dropout JoinedSums::wanted_dropout() { return waiting.wanted_dropout; }

void JoinedSums::keep_dropped(const Tensor& x, const Tensor& dropped) { waiting.dropped.keep(x, dropped); }

Tensor JoinedSums::take_dropped(const Tensor& x) { return waiting.dropped.take(x); }

}  // namespace headroom::engine
