#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace headroom::tasks {

/// Sums the gradients of 2ᵏ parts of a batch along one binary tree, ((0 + 1) + (2 + 3)) + …, as they come, one at a
/// time: k tensors are kept, however many parts there are. On any device, and in a recording.
class TreeSum {
 public:
  /// `parts` is a power of two; `like` has the gradients' shape, dtype and device.
  TreeSum(const engine::Tensor& like, int64_t parts);
  /// Part `i`, from 0 in turn, has these gradients; after the last one they are overwritten by the sum. They may also
  /// come in pieces (n), each with the place where it `begin`s.
  void add(const engine::Tensor& gradients, int64_t i, int64_t begin = 0) const;

 private:
  std::vector<engine::Tensor> levels_;  ///< [l]: the sum of 2ˡ parts that waits for that of the next 2ˡ
};

}  // namespace headroom::tasks
