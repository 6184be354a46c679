#include "engine/ops/cross_entropy/cross_entropy.h"

#include <cmath>

#include "engine/ops/cross_entropy/cross_entropy_kernel.h"
#include "engine/ops/rows.h"
#include "engine/ops/scale/scale.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

template <class T>
void row_loop(const T* x, const int64_t* targets, int64_t ignore, T factor, T* loss, T* dx, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n) {
    const bool counts = targets[r] != ignore;
    T top = *std::max_element(x, x + n), total = 0;
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
    loss[r] = counts ? std::log(total) - (x[targets[r]] - top) : 0;
    if (!dx) continue;
    for (int64_t i = 0; i < n; ++i)
      dx[r * n + i] = counts ? factor * (std::exp(x[i] - top) / total - (i == targets[r] ? 1 : 0)) : 0;
  }
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets_in, bool mean, int64_t ignore_index,
                           bool want_gradient) {
  check_floating("cross_entropy", {&logits});
  const Rows rows = rows_of("cross_entropy", logits);
  require(targets_in.dtype() == DType::i64 || targets_in.dtype() == DType::i32,
          "cross_entropy: targets {} are not i64 or i32", targets_in.str());
  if (!(targets_in.shape() == logits.shape().without(-1)))
    fail("cross_entropy: logits {} need targets {}, not {}", logits.shape().str(), logits.shape().without(-1).str(),
         targets_in.shape().str());
  const Tensor x = logits.contiguous(), targets = targets_in.to(DType::i64).contiguous();
  const auto* target = targets.data<int64_t>();
  int64_t counted = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    if (target[i] == ignore_index) continue;
    ++counted;
    if (target[i] < 0 || target[i] >= rows.width)
      fail("cross_entropy: target {} at position {} is outside [0, {}): logits {}", target[i], i, rows.width,
           logits.shape().str());
  }
  const double factor = !mean ? 1.0 : counted > 0 ? 1.0 / static_cast<double>(counted) : 0.0;
  CrossEntropy out;
  if (want_gradient) out.dlogits = Tensor::empty(x.shape(), x.dtype());        // (…, V)
  Tensor losses = Tensor::empty({x.numel() > 0 ? rows.count : 0}, x.dtype());  // (rows)
  if (x.numel() > 0) {
    visit_real("cross_entropy", x, [&](auto zero) {
      using T = decltype(zero);
      parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
        const T* from = x.data<T>() + begin * rows.width;
        T* loss = losses.mutable_data<T>() + begin;
        T* dx = want_gradient ? out.dlogits.mutable_data<T>() + begin * rows.width : nullptr;
        if constexpr (std::is_same_v<T, float>)
          if (!reference_only())
            return kernel::cross_entropy_rows(from, target + begin, ignore_index, float(factor), loss, dx, end - begin,
                                              rows.width);
        row_loop(from, target + begin, ignore_index, T(factor), loss, dx, end - begin, rows.width);
      });
    });
  }
  out.loss = scale(sum(losses, {}, false), factor);  // ()
  return out;
}

}  // namespace headroom::engine
