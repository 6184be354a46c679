#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/tensor.h"

namespace headroom::engine {

/// The values that change from one training step to the next. The training device holds one as a tensor u8 (72), and
/// every kernel of a step reads its arguments there: a captured step can be replayed without the host, which reads the
/// state only occasionally. All fields are eight bytes wide, in the order below.
struct StepState {
  int64_t step = 0;            ///< index of this step, from 0
  int64_t updates = 0;         ///< parameter updates so far: a step that is not finite makes none
  uint64_t random_offset = 0;  ///< added to the offset of the step's random keys: see RngKey::base
  uint64_t random_count = 0;   ///< values drawn per step: step_end() moves random_offset past them
  double loss = 0;             ///< sum over the batch's parts
  double gradient_norm = 0;    ///< before clipping; 0 if not measured
  double learning_rate = 0;
  double gradient_factor = 1;  ///< the optimizer multiplies every gradient by it: clipping
  int64_t is_finite = 1;       ///< 0: the loss or the norm is not finite, and the parameters stay unchanged
};
static_assert(sizeof(StepState) == 72 && offsetof(StepState, random_offset) == 16 && offsetof(StepState, loss) == 32 &&
              offsetof(StepState, learning_rate) == 48 && offsetof(StepState, is_finite) == 64);

/// A default StepState{} as a tensor: u8 (72).
Tensor make_step_state(Device device = cpu);
/// Copies it to the host, or from the host.
StepState read_step_state(const Tensor& state);
void write_step_state(const Tensor& state, const StepState& values);
/// Throws Error naming `op` unless `state` is a step's state on `device`.
void check_step_state(const char* op, const Tensor& state, Device device);
/// The RngKey::base of keys that follow this state; the state must outlive them.
const uint64_t* random_base(const Tensor& state);

/// The four functions below never wait for the device.
/// Begins a step: its learning rate is rates[step mod n], loss and norm are 0, the factor is 1. rates f64 (n): the host
/// fills it every n steps.
void step_begin_inplace(const Tensor& state, const Tensor& rates);
/// loss += x, in f64; x has one element.
void step_loss_inplace(const Tensor& state, const Tensor& x);
/// gradient_norm = norm(gradients) of f32 or f64 (N), which overflows only if a gradient has; gradient_factor =
/// max_norm / norm if the norm is larger, for max_norm > 0; is_finite is 0 if loss or norm is not finite: the update
/// then does nothing, and whoever runs the step must report it.
void step_norm_inplace(const Tensor& state, const Tensor& gradients, double max_norm);
/// step += 1, updates += is_finite, random_offset += random_count.
void step_end_inplace(const Tensor& state);

}  // namespace headroom::engine
