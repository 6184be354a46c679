#include "engine/optim/update.h"

#include <cmath>

#include "engine/optim/calls.h"
#include "engine/optim/flat.h"
#include "engine/optim/update_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
void adam_loop(T* p, const T* g, T* m, T* v, bf16* copy, int64_t n, const AdamScalars& s) {
  const auto rounded = [](double x) { return static_cast<T>(x); };
  for (int64_t i = 0; i < n; ++i) {
    const T grad = g[i] * rounded(s.gradient_factor) + rounded(s.l2) * p[i];
    p[i] *= rounded(s.keep);
    m[i] += rounded(s.one_minus_beta1) * (grad - m[i]);
    v[i] = rounded(s.beta2) * v[i] + rounded(s.one_minus_beta2) * grad * grad;
    p[i] -= rounded(s.step_size) * m[i] / (std::sqrt(v[i]) / rounded(s.root) + rounded(s.eps));
    if (copy) copy[i] = bf16(static_cast<float>(p[i]));
  }
}

void adam_fast(float* p, const float* g, float* m, float* v, bf16* copy, int64_t n, const AdamScalars& s) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const AdamConstants c{f(s.keep),     f(s.l2),  f(s.one_minus_beta1), f(s.beta2), f(s.one_minus_beta2), f(s.step_size),
                        f(1 / s.root), f(s.eps), f(s.gradient_factor)};
  static_assert(sizeof(bf16) == sizeof(uint16_t));
  if (copy) kernel::adam_bf16_run(p, g, m, v, &copy->bits, n, c);
  else kernel::adam_run(p, g, m, v, n, c);
}

/// `loop` over the ranges of one call.
template <class T>
void run_adam(AdamCall& c, void (*loop)(T*, const T*, T*, T*, bf16*, int64_t, const AdamScalars&)) {
  const StepState step = read_step_state(c.state);
  if (!step.is_finite) return;
  for (const Tensor* x : {&c.values, &c.mean, &c.square}) x->bump_version();
  if (c.copies.defined()) c.copies.bump_version();
  const AdamScalars with_decay = adam_scalars(c.config, step, true), without = adam_scalars(c.config, step, false);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    bf16* const copy = c.copies.mutable_data_or_null<bf16>();
    loop(c.values.mutable_data<T>() + begin, c.gradients.data<T>() + begin, c.mean.mutable_data<T>() + begin,
         c.square.mutable_data<T>() + begin, copy ? copy + begin : nullptr, end - begin, decays ? with_decay : without);
  });
}

}  // namespace

Op<AdamCall> adam_op{"adam", kernel_and_loops<AdamCall>(
                                 kernel::adam_run.levels(), [](AdamCall& c) { run_adam<float>(c, adam_fast); },
                                 [](AdamCall& c) { run_adam<float>(c, adam_loop); },
                                 [](AdamCall& c) { run_adam<double>(c, adam_loop); })};

void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const Tensor& copies, const AdamConfig& config, const Tensor& state) {
  AdamCall call{values, gradients, mean, square, copies, config, state};
  adam_op.check(call);
  check_flat("adam", call.operands());
  check_apart("adam", call.operands());
  require(config.beta1 >= 0 && config.beta1 < 1 && config.beta2 >= 0 && config.beta2 < 1 && config.eps >= 0,
          "adam: betas ({}, {}) are not in [0, 1), or eps {} is not at least 0", config.beta1, config.beta2,
          config.eps);
  check_copies("adam", values, copies);
  check_step_state("adam", state, values.device());
  check_decayed(values.numel(), config.decayed);
  adam_op.run(call);
}

}  // namespace headroom::engine
