#include "engine/optim/step_state.h"

#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "engine/optim/update.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

void check(const char* op, const Tensor& state) {
  require(state.defined() && state.dtype() == DType::u8 && state.numel() == sizeof(StepState) && state.is_contiguous(),
          "{}: the step's state is u8 ({}), got {}", op, sizeof(StepState), state.str());
}

/// The state itself, for ops that run on the CPU.
StepState& on_cpu(const char* op, const Tensor& state) {
  check(op, state);
  require(state.device().is_cpu(), "{}: no kernel on {}", op, state.device().str());
  state.bump_version();
  return *static_cast<StepState*>(state.mutable_raw());
}

}  // namespace

Tensor make_step_state(Device device) {
  Tensor state = Tensor::empty({sizeof(StepState)}, DType::u8, device);  // (72)
  write_step_state(state, {});
  return state;
}

StepState read_step_state(const Tensor& state) {
  check("read_step_state", state);
  StepState values;
  copy_bytes(cpu, &values, state.device(), state.raw(), sizeof(values));
  return values;
}

void write_step_state(const Tensor& state, const StepState& values) {
  check("write_step_state", state);
  copy_bytes(state.device(), state.mutable_raw(), cpu, &values, sizeof(values));
  state.bump_version();
}

const uint64_t* random_base(const Tensor& state) {
  check("random_base", state);
  const auto* bytes = static_cast<const std::byte*>(state.raw());
  return reinterpret_cast<const uint64_t*>(bytes + offsetof(StepState, random_offset));
}

void step_begin_inplace(const Tensor& state, const Tensor& rates) {
  StepState& s = on_cpu("step_begin", state);
  require(rates.rank() == 1 && rates.numel() > 0, "step_begin: want a list of learning rates, got {}", rates.str());
  s.learning_rate = rates.contiguous().data<double>()[s.step % rates.numel()];
  s.loss = s.gradient_norm = 0;
  s.gradient_factor = 1;
  s.is_finite = 1;
}

void step_loss_inplace(const Tensor& state, const Tensor& x) { on_cpu("step_loss", state).loss += x.item(); }

void step_norm_inplace(const Tensor& state, const Tensor& gradients, double max_norm) {
  require(max_norm >= 0, "step_norm: a largest norm of {}", max_norm);
  StepState& s = on_cpu("step_norm", state);
  s.gradient_norm = norm(gradients);
  s.is_finite = std::isfinite(s.loss) && std::isfinite(s.gradient_norm);
  if (max_norm > 0 && s.is_finite && s.gradient_norm > max_norm) s.gradient_factor = max_norm / s.gradient_norm;
}

void step_end_inplace(const Tensor& state) {
  StepState& s = on_cpu("step_end", state);
  ++s.step;
  s.updates += s.is_finite;
  s.random_offset += s.random_count;
}

}  // namespace headroom::engine
