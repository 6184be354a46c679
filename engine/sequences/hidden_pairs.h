#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// Which query may not attend which key: bool (B, Tq, Tk) on a device, true where `key_mask` (bool (B, Tk) there, or
/// undefined) leaves key j out, where `causal` is set and j > i + (Tk - Tq), or where `window` is above 0 and
/// j ≤ i + (Tk - Tq) - window. Nobody waits for the device. Throws Error for another mask.
Tensor hidden_pairs(int64_t batch, int64_t queries, int64_t keys, bool causal, const Tensor& key_mask, Device device,
                    int64_t window = 0);

/// y is what is filled.
struct HiddenPairsCall {
  Tensor y, key_mask;
  bool causal;
  int64_t window;
  auto operands() { return std::array{mask("y", y), optional_mask("key_mask", key_mask)}; }
};
extern Op<HiddenPairsCall> hidden_pairs_op;

}  // namespace headroom::engine
