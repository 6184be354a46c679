#include "engine/ops/kl_divergence/kl_divergence.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/kl_divergence/kl_divergence_kernel.h"
#include "engine/ops/rows/rows.h"
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

template <class T>
void run(KlDivergenceCall& c, void (*loop)(const T* x, const T* teacher, const bool* counted, T factor, T* loss, T* dx,
                                           int64_t rows, int64_t n)) {
  const Rows rows = rows_of("kl_divergence", c.logits);
  const bool* counted = c.counted.data_or_null<bool>();
  int64_t count = c.logits.numel() > 0 ? rows.count : 0;
  if (counted) count = std::count(counted, counted + c.counted.numel(), true);
  const double factor = !c.mean ? 1.0 : count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
  const Tensor losses = Tensor::empty({c.logits.numel() > 0 ? rows.count : 0}, c.logits.dtype());  // (rows)
  const T *x = c.logits.data<T>(), *teacher = c.teacher.data<T>();
  T *loss = losses.mutable_data<T>(), *dx = c.dlogits.mutable_data_or_null<T>();
  parallel_ranges(losses.numel(), rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, teacher + first, counted ? counted + begin : nullptr, static_cast<T>(factor), loss + begin,
         dx ? dx + first : nullptr, end - begin, rows.width);
  });
  c.loss = scale(sum(losses, {}, false), factor);  // ()
}

/// In bf16 by the f32 kernel, on copies.
void run_widened(KlDivergenceCall& c) {
  KlDivergenceCall wide{c.logits.to(DType::f32), c.teacher.to(DType::f32), c.counted, c.mean};
  if (c.dlogits.defined()) wide.dlogits = Tensor::empty(c.logits.shape());  // (…, V)
  run<float>(wide, kernel::kl_divergence_rows.best());
  c.loss = wide.loss;
  if (c.dlogits.defined()) c.dlogits = wide.dlogits.to(DType::bf16);
}

void run_grad(ScaledGradientCall& c) { c.gradient = mul(c.gradient, c.dy); }

}  // namespace

Op<KlDivergenceCall> kl_divergence_op{"kl_divergence",
                                      kernel_and_loops<KlDivergenceCall>(
                                          kernel::kl_divergence_rows.levels(),
                                          [](KlDivergenceCall& c) { run<float>(c, kernel::kl_divergence_rows.best()); },
                                          [](KlDivergenceCall& c) { run<float>(c, divergence_loop); },
                                          [](KlDivergenceCall& c) { run<double>(c, divergence_loop); }, run_widened),
                                      2};
Op<ScaledGradientCall> kl_divergence_grad_op{
    "kl_divergence_grad",
    {{.name = "loops", .dtypes = DType::f32 | DType::f64, .run = run_grad, .is_reference = true},
     {.name = "loops", .dtypes = DType::bf16, .run = scale_bf16_gradient, .is_reference = true}}};

KlDivergence kl_divergence(const Tensor& logits, const Tensor& teacher, const Tensor& counted, bool mean,
                           bool want_gradient) {
  KlDivergenceCall call{logits, teacher, counted, mean};
  kl_divergence_op.check(call);
  const Rows rows = rows_of("kl_divergence", logits);
  require(logits.shape() == teacher.shape(), "kl_divergence: shapes differ: logits {}, teacher {}", logits.shape(),
          teacher.shape());
  require(!counted.defined() || counted.shape() == logits.shape().without(-1),
          "kl_divergence: logits {} need counted {}, not {}", logits.shape(), logits.shape().without(-1),
          counted.shape());
  require(rows.count == 0 || rows.width > 0, "kl_divergence: no classes: logits {}", logits.shape());
  if (want_gradient) call.dlogits = Tensor::empty(logits.shape(), logits.dtype(), logits.device());  // (…, V)
  kl_divergence_op.run(call);
  return {call.loss, call.dlogits};  // (), (…, V)
}

Tensor kl_divergence_grad(const Tensor& dy, const Tensor& dlogits) {
  ScaledGradientCall call{dlogits, dy};
  kl_divergence_grad_op.check(call);
  require(dy.numel() == 1, "kl_divergence_grad: dy {} is no scalar", dy.shape());
  if (dlogits.numel() > 0) kl_divergence_grad_op.run(call);
  return call.gradient;  // (…, V)
}

}  // namespace headroom::engine
