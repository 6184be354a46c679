#include "engine/optim/step_state.h"

#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "engine/optim/calls.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

void check(const char* op, const Tensor& state) {
  require(state.defined() && state.dtype() == DType::u8 && state.numel() == sizeof(StepState) && state.is_contiguous(),
          "{}: the step's state is u8 ({}), got {}", op, sizeof(StepState), state);
}

/// The state itself, for the rows of the CPU.
StepState& on_cpu(const Tensor& state) {
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

void check_step_state(const char* op, const Tensor& state, Device device) {
  check(op, state);
  require(state.device() == device, "{}: the step's state is on {}, its operands on {}", op, state.device(), device);
}

Op<StepBeginCall> step_begin_op{
    "step_begin",
    {{.name = "host",
      .dtypes = DType::f64,
      .run = [](StepBeginCall& c) { begin_step(on_cpu(c.state), c.rates.data<double>(), c.rates.numel()); },
      .is_reference = true}}};
Op<StepLossCall> step_loss_op{"step_loss",
                              {{.name = "host",
                                .dtypes = DType::f32 | DType::f64 | DType::bf16 | DType::f16,
                                .run = [](StepLossCall& c) { on_cpu(c.state).loss += c.x.item(); },
                                .is_reference = true}}};
Op<StepNormCall> step_norm_op{"step_norm",
                              {{.name = "host",
                                .dtypes = DType::f64,
                                .run = [](StepNormCall& c) { set_norm(on_cpu(c.state), c.norm.item(), c.max_norm); },
                                .is_reference = true}}};
Op<StepEndCall> step_end_op{"step_end",
                            {{.name = "host",
                              .dtypes = DType::u8,
                              .run = [](StepEndCall& c) { end_step(on_cpu(c.state)); },
                              .is_reference = true}}};

void step_begin_inplace(const Tensor& state, const Tensor& rates) {
  StepBeginCall call{rates, state};
  step_begin_op.check(call);
  check_step_state("step_begin", state, rates.device());
  require(rates.rank() == 1 && rates.numel() > 0, "step_begin: expected a list of learning rates, got {}", rates);
  step_begin_op.run(call);
}

void step_loss_inplace(const Tensor& state, const Tensor& x) {
  StepLossCall call{x, state};
  step_loss_op.check(call);
  check_step_state("step_loss", state, x.device());
  require(x.numel() == 1, "step_loss: {} has not exactly one element", x);
  step_loss_op.run(call);
}

void step_norm_inplace(const Tensor& state, const Tensor& gradients, double max_norm) {
  require(max_norm >= 0, "step_norm: a largest norm of {}", max_norm);
  StepNormCall call{norm_of(gradients), state, max_norm};
  step_norm_op.check(call);
  check_step_state("step_norm", state, gradients.device());
  step_norm_op.run(call);
}

void step_end_inplace(const Tensor& state) {
  check("step_end", state);
  StepEndCall call{state};
  step_end_op.check(call);
  step_end_op.run(call);
}

}  // namespace headroom::engine
