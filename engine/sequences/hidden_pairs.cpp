#include "engine/sequences/hidden_pairs.h"

#include "engine/error.h"

namespace headroom::engine {
namespace {

void find_hidden_pairs(HiddenPairsCall& c) {
  const int64_t batch = c.y.dim(0), queries = c.y.dim(1), keys = c.y.dim(2);
  const bool* const kept = c.key_mask.data_or_null<bool>();
  bool* y = c.y.mutable_data<bool>();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) {
        const int64_t at = i + keys - queries;
        *y++ = (kept && !kept[b * keys + j]) || (c.causal && j > at) || (c.window > 0 && j <= at - c.window);
      }
}

}  // namespace

Op<HiddenPairsCall> hidden_pairs_op{
    "hidden_pairs", {{.name = "loop", .dtypes = DType::boolean, .run = find_hidden_pairs, .is_reference = true}}};

Tensor hidden_pairs(int64_t batch, int64_t queries, int64_t keys, bool causal, const Tensor& key_mask, Device device,
                    int64_t window) {
  HiddenPairsCall call{Tensor::empty({batch, queries, keys}, DType::boolean, device), key_mask, causal, window};
  hidden_pairs_op.check(call);
  require(!key_mask.defined() || key_mask.shape() == Shape{batch, keys},
          "hidden_pairs: a key mask {} for {} sequences of {} keys", key_mask, batch, keys);
  if (call.y.numel() > 0) hidden_pairs_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
