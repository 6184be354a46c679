#include "engine/ops/cross_entropy/cross_entropy.h"

#include <cmath>

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/cross_entropy/cross_entropy_kernel.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/rows/rows.h"
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

template <class T>
void run(CrossEntropyCall& c, void (*loop)(const T* x, const int64_t* targets, int64_t ignore, T factor, T* loss, T* dx,
                                           int64_t rows, int64_t n)) {
  const Rows rows = rows_of("cross_entropy", c.logits);
  const int64_t counted = count_targets(c.targets, c.ignore_index, c.logits);
  const double factor = !c.mean ? 1.0 : counted > 0 ? 1.0 / static_cast<double>(counted) : 0.0;
  const Tensor losses = Tensor::empty({c.logits.numel() > 0 ? rows.count : 0}, c.logits.dtype());  // (rows)
  const T* x = c.logits.data<T>();
  const auto* targets = c.targets.data<int64_t>();
  T *loss = losses.mutable_data<T>(), *dx = c.dlogits.mutable_data_or_null<T>();
  parallel_ranges(losses.numel(), rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, targets + begin, c.ignore_index, static_cast<T>(factor), loss + begin, dx ? dx + first : nullptr,
         end - begin, rows.width);
  });
  c.loss = scale(sum(losses, {}, false), factor);  // ()
}

/// Logits in bf16 by the f32 kernel, a row at a time or a few; losses are f32.
void run_widened(CrossEntropyCall& c) {
  const Rows rows = rows_of("cross_entropy", c.logits);
  const int64_t counted = count_targets(c.targets, c.ignore_index, c.logits), n = rows.width;
  const double factor = !c.mean ? 1.0 : counted > 0 ? 1.0 / static_cast<double>(counted) : 0.0;
  const Tensor losses = Tensor::empty({c.logits.numel() > 0 ? rows.count : 0});  // (rows)
  const bf16* x = c.logits.data<bf16>();
  const auto* targets = c.targets.data<int64_t>();
  auto* loss = losses.mutable_data<float>();
  bf16* dx = c.dlogits.mutable_data_or_null<bf16>();
  parallel_ranges(losses.numel(), rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_rows(n) * n);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t count) {
          kernel::cross_entropy_rows(f32.widen(0, x + row * n, count * n), targets + row, c.ignore_index,
                                     static_cast<float>(factor), loss + row, dx ? f32[1] : nullptr, count, n);
          if (dx) f32.narrow(1, dx + row * n, count * n);
        },
        widened_rows(n));
  });
  c.loss = scale(sum(losses, {}, false), factor);  // ()
}

/// dy is 1 where the loss is what backward() starts from: no further sweep then.
void run_grad(ScaledGradientCall& c) {
  if (c.dy.item() != 1.0) c.gradient = mul(c.gradient, c.dy);
}

}  // namespace

Op<CrossEntropyCall> cross_entropy_op{"cross_entropy",
                                      kernel_and_loops<CrossEntropyCall>(
                                          kernel::cross_entropy_rows.levels(),
                                          [](CrossEntropyCall& c) { run<float>(c, kernel::cross_entropy_rows.best()); },
                                          [](CrossEntropyCall& c) { run<float>(c, row_loop); },
                                          [](CrossEntropyCall& c) { run<double>(c, row_loop); }, run_widened)};
Op<ScaledGradientCall> cross_entropy_grad_op{
    "cross_entropy_grad",
    {{.name = "loops", .dtypes = DType::f32 | DType::f64, .run = run_grad, .is_reference = true},
     {.name = "loops", .dtypes = DType::bf16, .run = scale_bf16_gradient, .is_reference = true}}};

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets, bool mean, int64_t ignore_index,
                           bool want_gradient) {
  CrossEntropyCall call{logits, targets.dtype() == DType::i32 ? targets.to(DType::i64) : targets, ignore_index, mean};
  cross_entropy_op.check(call);
  const Rows rows = rows_of("cross_entropy", logits);
  require(rows.count == 0 || rows.width > 0, "cross_entropy: no classes: logits {}", logits.shape());
  if (!(targets.shape() == logits.shape().without(-1)))
    fail("cross_entropy: logits {} need targets {}, not {}", logits.shape().str(), logits.shape().without(-1).str(),
         targets.shape().str());
  if (want_gradient)  // (…, V), in rows as the logits'
    call.dlogits = has_padded_rows(logits) ? padded_rows(logits.shape(), logits.dtype(), logits.device(), true)
                                           : Tensor::empty(logits.shape(), logits.dtype(), logits.device());
  cross_entropy_op.run(call);
  return {call.loss, call.dlogits};  // (), (…, V)
}

Tensor cross_entropy_grad(const Tensor& dy, const Tensor& dlogits) {
  ScaledGradientCall call{dlogits, dy};
  cross_entropy_grad_op.check(call);
  require(dy.numel() == 1, "cross_entropy_grad: dy {} is no scalar", dy.shape());
  if (dlogits.numel() > 0) cross_entropy_grad_op.run(call);
  return call.gradient;  // (…, V)
}

}  // namespace headroom::engine
