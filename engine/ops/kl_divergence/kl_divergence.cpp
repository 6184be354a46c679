#include "engine/ops/kl_divergence/kl_divergence.h"

#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/ops/kl_divergence/kl_divergence_kernel.h"
#include "engine/ops/rows.h"
#include "engine/ops/scale/scale.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

template <class T>
void divergence_loop(const T* x, const T* teacher, const bool* counted, T factor, T* loss, T* dx, int64_t rows,
                     int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, teacher += n) {
    const bool counts = !counted || counted[r];
    const T top = *std::max_element(x, x + n), teacher_top = *std::max_element(teacher, teacher + n);
    T total = 0, teacher_total = 0;
    for (int64_t i = 0; i < n; ++i) {
      total += std::exp(x[i] - top);
      teacher_total += std::exp(teacher[i] - teacher_top);
    }
    const T shift = std::log(teacher_total) - std::log(total);
    loss[r] = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T from = teacher[i] - teacher_top, own = x[i] - top, p = std::exp(from) / teacher_total;
      if (counts) loss[r] += p * (from - own - shift);
      if (dx) dx[r * n + i] = counts ? factor * (std::exp(own) / total - p) : 0;
    }
  }
}

struct Call {
  Tensor logits, teacher, counted;
  double factor = 1;           ///< on the gradient
  Tensor losses{}, dlogits{};  ///< (rows), and (…, V) or undefined
  auto operands() {
    return std::array{real("logits", logits), real("teacher", teacher), optional_mask("counted", counted)};
  }
};

template <class T>
void run(Call& c, void (*loop)(const T* x, const T* teacher, const bool* counted, T factor, T* loss, T* dx,
                               int64_t rows, int64_t n)) {
  const Rows rows = rows_of("kl_divergence", c.logits);
  const T *x = c.logits.data<T>(), *teacher = c.teacher.data<T>();
  const bool* counted = c.counted.defined() ? c.counted.data<bool>() : nullptr;
  T *losses = c.losses.mutable_data<T>(), *dx = c.dlogits.defined() ? c.dlogits.mutable_data<T>() : nullptr;
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, teacher + first, counted ? counted + begin : nullptr, static_cast<T>(c.factor), losses + begin,
         dx ? dx + first : nullptr, end - begin, rows.width);
  });
}

const Op<Call> op{
    "kl_divergence",
    kernel_and_loops<Call>(
        kernel::kl_divergence_rows.levels(), [](Call& c) { run<float>(c, kernel::kl_divergence_rows.best()); },
        [](Call& c) { run<float>(c, divergence_loop); }, [](Call& c) { run<double>(c, divergence_loop); })};

}  // namespace

KlDivergence kl_divergence(const Tensor& logits, const Tensor& teacher, const Tensor& counted, bool mean,
                           bool want_gradient) {
  Call call{logits, teacher, counted};
  op.check(call);
  const Rows rows = rows_of("kl_divergence", logits);
  require(logits.shape() == teacher.shape(), "kl_divergence: shapes differ: logits {}, teacher {}",
          logits.shape().str(), teacher.shape().str());
  require(!counted.defined() || counted.shape() == logits.shape().without(-1),
          "kl_divergence: logits {} need counted {}, not {}", logits.shape().str(), logits.shape().without(-1).str(),
          counted.shape().str());
  require(rows.count == 0 || rows.width > 0, "kl_divergence: no classes: logits {}", logits.shape().str());
  int64_t count = logits.numel() > 0 ? rows.count : 0;
  if (counted.defined()) {
    const Tensor flags = call.counted = counted.contiguous();
    count = std::count(flags.data<bool>(), flags.data<bool>() + flags.numel(), true);
  }
  call.factor = !mean ? 1.0 : count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
  if (want_gradient) call.dlogits = Tensor::empty(logits.shape(), logits.dtype(), logits.device());     // (…, V)
  call.losses = Tensor::empty({logits.numel() > 0 ? rows.count : 0}, logits.dtype(), logits.device());  // (rows)
  if (logits.numel() > 0) op.run(call);
  return {scale(sum(call.losses, {}, false), call.factor), call.dlogits};  // (), (…, V)
}

}  // namespace headroom::engine
