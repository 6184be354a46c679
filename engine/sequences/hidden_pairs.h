#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// Marks pairs in which the query may not attend to the key: bool (B, Tq, Tk) on a device, true if `key_mask` (bool (B,
/// Tk) there, or undefined) leaves out key j, if `causal` and j > i + (Tk - Tq), or if `window` is above 0 and j ≤ i +
/// (Tk - Tq) - window. Never waits for the device. Throws Error for another mask.
Tensor hidden_pairs(int64_t batch, int64_t queries, int64_t keys, bool causal, const Tensor& key_mask, Device device,
                    int64_t window = 0);

/// The call fills y.
struct HiddenPairsCall {
  Tensor y, key_mask;
  bool causal;
  int64_t window;
  auto operands() { return std::array{mask("y", y), optional_mask("key_mask", key_mask)}; }
};
extern Op<HiddenPairsCall> hidden_pairs_op;

}  // namespace headroom::engine
