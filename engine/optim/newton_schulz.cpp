#include "engine/optim/newton_schulz.h"

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/scale/scale.h"
#include "engine/optim/update.h"

namespace headroom::engine::linalg {

Tensor newton_schulz(const Tensor& x, int64_t iterations) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  require(x.rank() == 2, "newton_schulz: expected a matrix, got {}", x);
  require(iterations >= 1, "newton_schulz: {} iterations", iterations);
  if (x.numel() == 0) return x;
  const double size = norm(x);
  const bool is_tall = x.dim(0) > x.dim(1);
  Tensor y = scale(is_tall ? x.transpose(0, 1).contiguous() : x, size > 0 ? 1 / size : 0);  // (M, N), M <= N
  for (int64_t i = 0; i < iterations; ++i) {
    const Tensor gram = matmul(y, y, false, true);                          // (M, M)
    const Tensor even = add(scale(gram, b), scale(matmul(gram, gram), c));  // (M, M)
    y = add(scale(y, a), matmul(even, y));                                  // (M, N)
  }
  return is_tall ? y.transpose(0, 1).contiguous() : y;
}

}  // namespace headroom::engine::linalg
