#include "engine/optim/update.h"

#include <array>

#include "engine/dispatch/op.h"
#include "engine/optim/flat.h"

namespace headroom::engine {
namespace {

struct SgdCall {
  Tensor values, gradients, momentum, copies;
  SgdConfig config;
  StepState step;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), optional_real("momentum", momentum)};
  }
};

template <class T>
void run_sgd(SgdCall& c) {
  const T lr = static_cast<T>(c.step.learning_rate), mu = static_cast<T>(c.config.momentum);
  const T factor = static_cast<T>(c.step.gradient_factor);
  for_each_range(c.values.numel(), c.config.decayed, [&](int64_t begin, int64_t end, bool decays) {
    const T l2 = decays ? static_cast<T>(c.config.l2_decay) : T(0);
    T *p = c.values.mutable_data<T>(), *b = c.momentum.defined() ? c.momentum.mutable_data<T>() : nullptr;
    const T* g = c.gradients.data<T>();
    bf16* const copy = data_of(c.copies);
    for (int64_t i = begin; i < end; ++i) {
      const T grad = g[i] * factor + l2 * p[i];
      if (b) b[i] = c.step.updates == 0 ? grad : mu * b[i] + grad;
      p[i] -= lr * (!b ? grad : c.config.nesterov ? grad + mu * b[i] : b[i]);
      if (copy) copy[i] = bf16(static_cast<float>(p[i]));
    }
  });
}

const Op<SgdCall> sgd_op{"sgd",
                         {{.name = "loops", .dtypes = DType::f32, .run = run_sgd<float>, .is_reference = true},
                          {.name = "loops", .dtypes = DType::f64, .run = run_sgd<double>, .is_reference = true}}};

}  // namespace

void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                 const SgdConfig& config, const Tensor& state) {
  SgdCall call{values, gradients, momentum, copies, config, read_step_state(state)};
  sgd_op.check(call);
  check_flat("sgd", call.operands());
  check_apart("sgd", call.operands());
  check_copies("sgd", values, copies);
  if (!call.step.is_finite) return;
  for (const Tensor* x : {&values, &momentum, &copies})
    if (x->defined()) x->bump_version();
  sgd_op.run(call);
}

}  // namespace headroom::engine
