#pragma once
#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/host_device.h"
#include "engine/optim/update.h"

// The calls of the optimizers' ops, for backends with kernels.
namespace headroom::engine {

/// Checked: flat arrays that do not overlap; copies may be undefined. An implementation reads the state.
struct AdamCall {
  Tensor values, gradients, mean, square, copies;
  AdamConfig config;
  Tensor state;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), real("mean", mean), real("square", square)};
  }
  Work work() const { return {.bytes = 7 * bytes_of(values) + bytes_of(copies)}; }  // all read, all but one written
};
extern Op<AdamCall> adam_op;

struct SgdCall {
  Tensor values, gradients, momentum, copies;
  SgdConfig config;
  Tensor state;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), optional_real("momentum", momentum)};
  }
};
extern Op<SgdCall> sgd_op;

struct MuonCall {
  Tensor values, gradients, momentum, copies;
  MuonConfig config;
  Tensor state;
  auto operands() {
    return std::array{real("values", values), real("gradients", gradients), real("momentum", momentum)};
  }
};
extern Op<MuonCall> muon_op;

/// The scalars of one step of Adam in f64.
struct AdamScalars {
  double keep, l2, one_minus_beta1, beta2, one_minus_beta2, step_size, root, eps, gradient_factor;
};
/// The scalars for elements that decay, or for those that do not.
HEADROOM_HD inline AdamScalars adam_scalars(const AdamConfig& c, const StepState& s, bool decays) {
  const auto t = static_cast<double>(s.updates + 1);
  const double learning_rate = c.rate * s.learning_rate;
  return {.keep = decays ? 1 - learning_rate * c.decoupled_decay : 1,
          .l2 = decays ? c.l2_decay : 0,
          .one_minus_beta1 = 1 - c.beta1,
          .beta2 = c.beta2,
          .one_minus_beta2 = 1 - c.beta2,
          .step_size = learning_rate / (1 - std::pow(c.beta1, t)),
          .root = std::sqrt(1 - std::pow(c.beta2, t)),
          .eps = c.eps,
          .gradient_factor = s.gradient_factor};
}

/// y () f64 = √Σx², x contiguous and not empty.
struct NormCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
extern Op<NormCall> norm_op;

/// Calls that change the state, which is on the first operand's device.
struct StepBeginCall {
  Tensor rates, state;
  auto operands() { return std::array{real("rates", rates)}; }
};
struct StepLossCall {
  Tensor x, state;
  auto operands() { return std::array{real("x", x)}; }
};
struct StepNormCall {
  Tensor norm, state;
  double max_norm;
  auto operands() { return std::array{real("norm", norm)}; }
};
struct StepEndCall {
  Tensor state;
  auto operands() { return std::array{real("state", state)}; }
};
extern Op<StepBeginCall> step_begin_op;
extern Op<StepLossCall> step_loss_op;
extern Op<StepNormCall> step_norm_op;
extern Op<StepEndCall> step_end_op;

/// The effect of step_begin, step_norm and step_end on a state, for the CPU and for kernels.
HEADROOM_HD inline void begin_step(StepState& s, const double* rates, int64_t n) {
  s.learning_rate = rates[s.step % n];
  s.loss = s.gradient_norm = 0;
  s.gradient_factor = 1;
  s.is_finite = 1;
}
HEADROOM_HD inline void set_norm(StepState& s, double norm, double max_norm) {
  s.gradient_norm = norm;
  s.is_finite = std::isfinite(s.loss) && std::isfinite(norm);
  if (max_norm > 0 && s.is_finite && norm > max_norm) s.gradient_factor = max_norm / norm;
}
HEADROOM_HD inline void end_step(StepState& s) {
  ++s.step;
  s.updates += s.is_finite;
  s.random_offset += s.random_count;
}

}  // namespace headroom::engine
