#include "engine/optim/update.h"

#include "engine/optim/calls.h"
#include "engine/optim/flat.h"

namespace headroom::engine {
namespace {

template <class T>
void run_sgd(SgdCall& c) {
  const StepState step = read_step_state(c.state);
  if (!step.is_finite) return;
  for (const Tensor* x : {&c.values, &c.momentum, &c.copies})
    if (x->defined()) x->bump_version();
  const T lr = static_cast<T>(step.learning_rate), mu = static_cast<T>(c.config.momentum);
  const T factor = static_cast<T>(step.gradient_factor);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    const T l2 = decays ? static_cast<T>(c.config.l2_decay) : T(0);
    T *p = c.values.mutable_data<T>(), *b = c.momentum.mutable_data_or_null<T>();
    const T* g = c.gradients.data<T>();
    bf16* const copy = c.copies.mutable_data_or_null<bf16>();
    for (int64_t i = begin; i < end; ++i) {
      const T grad = g[i] * factor + l2 * p[i];
      if (b) b[i] = step.updates == 0 ? grad : mu * b[i] + grad;
      p[i] -= lr * (!b ? grad : c.config.nesterov ? grad + mu * b[i] : b[i]);
      if (copy) copy[i] = bf16(static_cast<float>(p[i]));
    }
  });
}

}  // namespace

Op<SgdCall> sgd_op{"sgd",
                   {{.name = "loops", .dtypes = DType::f32, .run = run_sgd<float>, .is_reference = true},
                    {.name = "loops", .dtypes = DType::f64, .run = run_sgd<double>, .is_reference = true}}};

void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                 const SgdConfig& config, const Tensor& state) {
  SgdCall call{values, gradients, momentum, copies, config, state};
  sgd_op.check(call);
  check_flat("sgd", call.operands());
  check_apart("sgd", call.operands());
  check_copies("sgd", values, copies);
  check_step_state("sgd", state, values.device());
  check_decayed(values.numel(), config.decayed);
  sgd_op.run(call);
}

}  // namespace headroom::engine
