#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace headroom::tasks {

/// Sums the gradients of 2ᵏ parts of a batch along a binary tree, ((0 + 1) + (2 + 3)) + …, as they arrive: keeps k
/// tensors for any number of parts. Works on any device and in a recording.
class TreeSum {
 public:
  /// `parts` is a power of two; `like` has the gradients' shape, dtype and device.
  TreeSum(const engine::Tensor& like, int64_t parts);
  /// Adds the gradients of part `i`, in order from 0; overwrites those of the last part with the sum. They may also
  /// come in pieces (n), each with its offset `begin`.
  void add(const engine::Tensor& gradients, int64_t i, int64_t begin = 0) const;

 private:
  std::vector<engine::Tensor> levels_;  ///< [l]: the sum of 2ˡ parts, waiting for that of the next 2ˡ
};

}  // namespace headroom::tasks
