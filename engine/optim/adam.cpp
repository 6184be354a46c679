#include "engine/optim/update.h"

#include <array>
#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/optim/flat.h"
#include "engine/optim/update_kernel.h"

namespace headroom::engine {
namespace {

/// The scalars of one step in f64.
struct AdamScalars {
  double keep, l2, one_minus_beta1, beta2, one_minus_beta2, step_size, root, eps, gradient_factor;
};

AdamScalars scalars_of(const AdamConfig& c, const StepState& s, bool decays) {
  const auto t = static_cast<double>(s.updates + 1);
  return {.keep = decays ? 1 - s.learning_rate * c.decoupled_decay : 1,
          .l2 = decays ? c.l2_decay : 0,
          .one_minus_beta1 = 1 - c.beta1,
          .beta2 = c.beta2,
          .one_minus_beta2 = 1 - c.beta2,
          .step_size = s.learning_rate / (1 - std::pow(c.beta1, t)),
          .root = std::sqrt(1 - std::pow(c.beta2, t)),
          .eps = c.eps,
          .gradient_factor = s.gradient_factor};
}

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

struct AdamCall {
  Tensor values, gradients, mean, square, copies;
  AdamConfig config;
  StepState step;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), real("mean", mean), real("square", square)};
  }
};

/// `loop` over the ranges of one call.
template <class T>
void run_adam(AdamCall& c, void (*loop)(T*, const T*, T*, T*, bf16*, int64_t, const AdamScalars&)) {
  const AdamScalars with_decay = scalars_of(c.config, c.step, true), without = scalars_of(c.config, c.step, false);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    bf16* const copy = data_of(c.copies);
    loop(c.values.mutable_data<T>() + begin, c.gradients.data<T>() + begin, c.mean.mutable_data<T>() + begin,
         c.square.mutable_data<T>() + begin, copy ? copy + begin : nullptr, end - begin, decays ? with_decay : without);
  });
}

const Op<AdamCall> adam_op{"adam",
                           {{.name = "simd",
                             .dtypes = DType::f32,
                             .run = [](AdamCall& c) { run_adam<float>(c, adam_fast); },
                             .levels = kernel::adam_run.levels()},
                            {.name = "loops",
                             .dtypes = DType::f32,
                             .run = [](AdamCall& c) { run_adam<float>(c, adam_loop); },
                             .is_reference = true},
                            {.name = "loops",
                             .dtypes = DType::f64,
                             .run = [](AdamCall& c) { run_adam<double>(c, adam_loop); },
                             .is_reference = true}}};

}  // namespace

void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const Tensor& copies, const AdamConfig& config, const Tensor& state) {
  AdamCall call{values, gradients, mean, square, copies, config, read_step_state(state)};
  adam_op.check(call);
  check_flat("adam", call.operands());
  check_apart("adam", call.operands());
  require(config.beta1 >= 0 && config.beta1 < 1 && config.beta2 >= 0 && config.beta2 < 1 && config.eps >= 0,
          "adam: betas ({}, {}) are not in [0, 1), or eps {} is not at least 0", config.beta1, config.beta2,
          config.eps);
  check_copies("adam", values, copies);
  if (!call.step.is_finite) return;
  for (const Tensor* x : {&values, &mean, &square}) x->bump_version();
  if (copies.defined()) copies.bump_version();
  adam_op.run(call);
}

}  // namespace headroom::engine
