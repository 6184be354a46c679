#pragma once
#include <cstdint>
#include <vector>

#include "engine/dispatch/op.h"
#include "engine/dropout.h"

// The last stage of sums over rows, as for the gradients of norms and biases on a GPU: a kernel that passes over the
// rows leaves a sum for each chunk of them, and one kernel adds the chunks of many such sums at once. Likewise what
// else a kernel of backward() makes on its way for the next.
namespace headroom::engine {

/// False if HEADROOM_JOINED_GRADIENTS=off keeps these gradients, and the MSE, in kernels of their own, for comparing
/// the two.
bool joins_gradients();

/// to (width) = Σ of chunks (count, width) in their order. Both contiguous, on one device; `chunks` f32 or f64, `to` of
/// its dtype, or bf16.
struct ChunkSums {
  Tensor chunks, to;
};

/// A checked call; `chunks` is the first sum's.
struct JoinCall {
  Tensor chunks;
  std::vector<ChunkSums> sums;
  auto operands() { return std::array{real("chunks", chunks)}; }
  Work work() const;
};
extern Op<JoinCall> join_op;

/// While one lives, sums on its thread may wait for each other. They may nest: the outermost keeps them. Those that
/// still wait at its end are forgotten.
class JoinedSums {
 public:
  JoinedSums();
  ~JoinedSums();
  JoinedSums(const JoinedSums&) = delete;
  JoinedSums& operator=(const JoinedSums&) = delete;

  /// Computes the sums in one kernel: at once, or with `may_wait`, and if one lives here, at finish(). All chunks are
  /// of one dtype and device.
  static void join(const std::vector<ChunkSums>& sums, bool may_wait);
  /// Computes all sums that wait on this thread.
  static void finish();

  /// Says whether somebody will ask for the sums over the rows of what the next kernels make.
  static void want_columns(bool wanted);
  /// True if so; false unless one lives here.
  static bool wants_columns();
  /// Keeps Σ over the rows of x (…, width), as chunks (count, width), which the kernel that made x added on its way.
  /// Only the last x is known.
  static void keep_columns(const Tensor& x, const Tensor& chunks);
  /// Those chunks, which are then forgotten; undefined for another x, or if it was written since.
  static Tensor take_columns(const Tensor& x);

  /// The same for dropout() of the gradient that the next kernels make: what will be asked for, nothing if p is 0; what
  /// a kernel has made of x on its way; and that.
  static void want_dropout(const Dropout& dropout);
  static Dropout wanted_dropout();
  static void keep_dropped(const Tensor& x, const Tensor& dropped);
  static Tensor take_dropped(const Tensor& x);
};

}  // namespace headroom::engine
