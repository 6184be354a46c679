#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/optim/calls.h"
#include "engine/optim/flat.h"
#include "engine/optim/newton_schulz.h"

namespace headroom::engine {
namespace {

template <class T>
void run_muon(MuonCall& c) {
  const StepState step = read_step_state(c.state);
  if (!step.is_finite) return;
  for (const Tensor* x : {&c.values, &c.momentum, &c.copies})
    if (x->defined()) x->bump_version();
  const MuonConfig& config = c.config;
  const int64_t n = c.values.numel();
  const T mu = static_cast<T>(config.momentum), rest = static_cast<T>(1 - config.momentum);
  const T factor = static_cast<T>(step.gradient_factor);
  const Tensor direction = Tensor::empty({config.rows, n / config.rows}, c.values.dtype());  // (rows, columns)
  parallel_ranges(n, flat_grain, [&](int64_t begin, int64_t end) {
    T *b = c.momentum.mutable_data<T>(), *u = direction.mutable_data<T>();
    const T* g = c.gradients.data<T>();
    for (int64_t i = begin; i < end; ++i) {
      const T grad = rest * (g[i] * factor);
      b[i] = mu * b[i] + grad;
      u[i] = config.nesterov ? mu * b[i] + grad : b[i];
    }
  });
  const PrecisionScope f32(Precision::f32);  // a step is what it is whatever the layers' products read
  const Tensor turned = linalg::newton_schulz(direction, config.iterations);  // (rows, columns)
  const double shape = static_cast<double>(config.rows) / static_cast<double>(n / config.rows);
  const T rate = static_cast<T>(step.learning_rate * std::sqrt(std::max(1.0, shape)));
  const T keep = static_cast<T>(1 - step.learning_rate * config.decoupled_decay);
  parallel_ranges(n, flat_grain, [&](int64_t begin, int64_t end) {
    T* p = c.values.mutable_data<T>();
    const T* o = turned.data<T>();
    bf16* const copy = c.copies.mutable_data_or_null<bf16>();
    for (int64_t i = begin; i < end; ++i) {
      p[i] = keep * p[i] - rate * o[i];
      if (copy) copy[i] = bf16(static_cast<float>(p[i]));
    }
  });
}

}  // namespace

Op<MuonCall> muon_op{"muon",
                     {{.name = "products", .dtypes = DType::f32, .run = run_muon<float>, .is_reference = true},
                      {.name = "products", .dtypes = DType::f64, .run = run_muon<double>, .is_reference = true}}};

void muon_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                  const MuonConfig& config, const Tensor& state) {
  MuonCall call{values, gradients, momentum, copies, config, state};
  muon_op.check(call);
  check_flat("muon", call.operands());
  check_apart("muon", call.operands());
  require(config.rows >= 1 && values.numel() % config.rows == 0, "muon: {} numbers are no matrix of {} rows",
          values.numel(), config.rows);
  require(config.momentum >= 0 && config.momentum < 1, "muon: a momentum of {} is not in [0, 1)", config.momentum);
  check_copies("muon", values, copies);
  check_step_state("muon", state, values.device());
  muon_op.run(call);
}

}  // namespace headroom::engine
