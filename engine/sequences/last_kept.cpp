#include "engine/sequences/last_kept.h"

#include "engine/error.h"

namespace headroom::engine {
namespace {

void find_last_kept(LastKeptCall& c) {
  const int64_t length = c.mask.dim(1);
  const bool* const kept = c.mask.data<bool>();
  auto* const y = c.y.mutable_data<int64_t>();
  for (int64_t b = 0; b < c.mask.dim(0); ++b) {
    int64_t t = length - 1;
    while (t >= 0 && !kept[b * length + t]) --t;
    y[b] = t >= 0 ? b * length + t : -1;
  }
}

}  // namespace

Op<LastKeptCall> last_kept_op{
    "last_kept", {{.name = "loop", .dtypes = DType::boolean, .run = find_last_kept, .is_reference = true}}};

Tensor last_kept(const Tensor& mask) {
  LastKeptCall call{mask};
  last_kept_op.check(call);
  require(mask.rank() == 2, "last_kept: {} is not (B, T)", mask);
  call.y = Tensor::empty({mask.dim(0)}, DType::i64, mask.device());  // (B)
  if (call.y.numel() > 0) last_kept_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
