#pragma once
#include <algorithm>

#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// A tensor seen as rows along its last axis: (…, width) → (count, width).
struct Rows {
  int64_t count, width;
  /// Rows per task: about 64 KiB of f32, so that a row is still in cache when it is read again.
  int64_t grain() const { return std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, width)); }
};

/// Throws Error naming `op` if x has no last axis.
inline Rows rows_of(const char* op, const Tensor& x) {
  require(x.rank() > 0, "{}: x {} has no last axis", op, x.shape());
  return {x.shape().numel(0, x.rank() - 1), x.dim(-1)};
}

/// Throws Error unless `vector` (named `name` in the message) has one axis, as long as x's last.
inline void check_width(const char* op, const char* name, const Tensor& vector, const Tensor& x) {
  if (vector.rank() == 1 && vector.dim(0) == x.dim(-1)) return;
  fail("{}: {} has {} elements, x's last axis has {}: x {}, {} {}", op, name, vector.numel(), x.dim(-1),
       x.shape().str(), name, vector.shape().str());
}

}  // namespace headroom::engine
