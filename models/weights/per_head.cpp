#include "models/weights/per_head.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

autograd::Var per_head_linear(const autograd::Var& x, const autograd::Var& weight) {
  const engine::Shape shape = x.shape();
  require(shape.rank() >= 2 && weight.shape().rank() == 2 && weight.dim(1) == shape[-1] && shape[-2] > 0 &&
              weight.dim(0) % shape[-2] == 0,
          "per_head_linear: expected x (..., heads, in) and weight (heads * out, in), got {} and {}", x.value().str(),
          weight.value().str());
  const int64_t heads = shape[-2], in = shape[-1], out = weight.dim(0) / heads;
  const int64_t rows = shape.numel(0, shape.rank() - 2);
  const autograd::Var maps = autograd::reshape(weight, {heads, out, in});
  // One row needs no transposition, and decoding has many of these.
  if (rows == 1)
    return autograd::reshape(autograd::matmul(autograd::reshape(x, {heads, 1, in}), maps, false, true),
                             shape.with(-1, out));
  const autograd::Var by_head = autograd::permute(autograd::reshape(x, {rows, heads, in}), {1, 0, 2});  // (H, N, in)
  const autograd::Var y = autograd::matmul(by_head, maps, false, true);                                 // (H, N, out)
  return autograd::reshape(autograd::permute(y, {1, 0, 2}), shape.with(-1, out));
}

}  // namespace headroom::models
