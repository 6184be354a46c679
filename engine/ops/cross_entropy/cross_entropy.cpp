#include "engine/ops/cross_entropy/cross_entropy.h"

#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/error.h"
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

struct Call {
  Tensor logits, targets;
  int64_t ignore_index;
  double factor = 1;           ///< on the gradient
  Tensor losses{}, dlogits{};  ///< (rows), and (…, V) or undefined
  auto operands() { return std::array{real("logits", logits), index("targets", targets)}; }
};

template <class T>
void run(Call& c, void (*loop)(const T* x, const int64_t* targets, int64_t ignore, T factor, T* loss, T* dx,
                               int64_t rows, int64_t n)) {
  const Rows rows = rows_of("cross_entropy", c.logits);
  const T* x = c.logits.data<T>();
  const auto* targets = c.targets.data<int64_t>();
  T *losses = c.losses.mutable_data<T>(), *dx = c.dlogits.defined() ? c.dlogits.mutable_data<T>() : nullptr;
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, targets + begin, c.ignore_index, static_cast<T>(c.factor), losses + begin,
         dx ? dx + first : nullptr, end - begin, rows.width);
  });
}

const Op<Call> op{
    "cross_entropy",
    kernel_and_loops<Call>(
        kernel::cross_entropy_rows.levels(), [](Call& c) { run<float>(c, kernel::cross_entropy_rows.best()); },
        [](Call& c) { run<float>(c, row_loop); }, [](Call& c) { run<double>(c, row_loop); })};

/// Throws Error naming the first target outside [0, V). Returns how many are not ignored.
int64_t count_targets(const Tensor& targets, int64_t ignore_index, const Tensor& logits) {
  const auto* target = targets.data<int64_t>();
  int64_t counted = 0;
  for (int64_t i = 0; i < targets.numel(); ++i) {
    if (target[i] == ignore_index) continue;
    ++counted;
    if (target[i] < 0 || target[i] >= logits.dim(-1))
      fail("cross_entropy: target {} at position {} is outside [0, {}): logits {}", target[i], i, logits.dim(-1),
           logits.shape().str());
  }
  return counted;
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets, bool mean, int64_t ignore_index,
                           bool want_gradient) {
  Call call{logits, targets.dtype() == DType::i32 ? targets.to(DType::i64) : targets, ignore_index};
  op.check(call);
  const Rows rows = rows_of("cross_entropy", logits);
  if (!(targets.shape() == logits.shape().without(-1)))
    fail("cross_entropy: logits {} need targets {}, not {}", logits.shape().str(), logits.shape().without(-1).str(),
         targets.shape().str());
  call.targets = call.targets.contiguous();
  const int64_t counted = count_targets(call.targets, ignore_index, logits);
  call.factor = !mean ? 1.0 : counted > 0 ? 1.0 / static_cast<double>(counted) : 0.0;
  if (want_gradient) call.dlogits = Tensor::empty(logits.shape(), logits.dtype(), logits.device());     // (…, V)
  call.losses = Tensor::empty({logits.numel() > 0 ? rows.count : 0}, logits.dtype(), logits.device());  // (rows)
  if (logits.numel() > 0) op.run(call);
  return {scale(sum(call.losses, {}, false), call.factor), call.dlogits};  // (), (…, V)
}

}  // namespace headroom::engine
