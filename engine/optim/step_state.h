#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/tensor.h"

namespace headroom::engine {

/// What changes from one training step to the next. One of these lives on the device that trains, as the 72 bytes of a
/// tensor u8 (72), and every kernel of a step reads its arguments there: a step that was captured once can be replayed
/// without the host, which looks at it only occasionally. All fields are eight bytes wide, in the order below.
struct StepState {
  int64_t step = 0;            ///< which step this is, from 0
  int64_t updates = 0;         ///< updates of the parameters so far: a step that is not finite makes none
  uint64_t random_offset = 0;  ///< added to the offset of the step's random keys: see RngKey::base
  uint64_t random_count = 0;   ///< values that one step draws: step_end() moves random_offset past them
  double loss = 0;             ///< sum over the parts of the batch
  double gradient_norm = 0;    ///< before clipping; 0 where it is not measured
  double learning_rate = 0;
  double gradient_factor = 1;  ///< the optimizer multiplies every gradient by it: clipping
  int64_t is_finite = 1;       ///< 0: the loss or the norm is not, and the parameters stay as they are
};
static_assert(sizeof(StepState) == 72 && offsetof(StepState, random_offset) == 16 && offsetof(StepState, loss) == 32 &&
              offsetof(StepState, learning_rate) == 48 && offsetof(StepState, is_finite) == 64);

/// A state as a StepState{} has it: u8 (72).
Tensor make_step_state(Device device = cpu);
/// Copies it to the host, from the host.
StepState read_step_state(const Tensor& state);
void write_step_state(const Tensor& state, const StepState& values);
/// Throws Error naming `op` unless `state` is a step's state on `device`.
void check_step_state(const char* op, const Tensor& state, Device device);
/// Where RngKey::base points to for keys that follow this state, which must outlive them.
const uint64_t* random_base(const Tensor& state);

/// These four never wait for the device.
/// A step begins: its learning rate is rates[step mod n], loss and norm are 0, the factor is 1. rates f64 (n): the host
/// fills it every n steps.
void step_begin_inplace(const Tensor& state, const Tensor& rates);
/// loss += x, in f64; x has one element.
void step_loss_inplace(const Tensor& state, const Tensor& x);
/// gradient_norm = norm(gradients) of f32 or f64 (N), which overflows only where a gradient has; gradient_factor =
/// max_norm / norm where the norm is larger than that, for max_norm > 0; is_finite as loss and norm are: 0 makes the
/// update do nothing, and whoever runs the step must say so.
void step_norm_inplace(const Tensor& state, const Tensor& gradients, double max_norm);
/// step += 1, updates += is_finite, random_offset += random_count.
void step_end_inplace(const Tensor& state);

}  // namespace headroom::engine
