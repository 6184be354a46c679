#include "tasks/training/recorded_step.h"

#include "engine/context.h"
#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::tasks {
namespace {

/// Steps before the recorded one: the first makes what lasts (tables, plans), the second asks for memory as every later
/// one does.
constexpr int64_t steps_before = 2;

bool is_alike(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() && a.shape() == b.shape() && a.dtype() == b.dtype();
}

void copy(const Tensor& to, const Tensor& from) {
  if (to.defined()) engine::copy_inplace(to, from.contiguous());
}

}  // namespace

bool RecordedStep::fits(const Batch& batch) const {
  return is_alike(fixed_.input, batch.input) && is_alike(fixed_.target, batch.target) &&
         is_alike(fixed_.key_mask, batch.key_mask) && is_alike(fixed_.response, batch.response);
}

StepOutcome RecordedStep::run(const Batch& batch, engine::Device device, const std::function<void(const Batch&)>& f,
                              const std::function<void()>& again) {
  if (!has_failed_ && !fixed_.input.defined()) {
    fixed_ = batch.to(device);
    pool_.emplace(device.kind);
  }
  if (has_failed_ || !fits(batch)) {
    f(batch.to(device));
    return StepOutcome::queued;
  }
  copy(fixed_.input, batch.input);
  copy(fixed_.target, batch.target);
  copy(fixed_.key_mask, batch.key_mask);
  copy(fixed_.response, batch.response);
  if (recording_) {
    recording_->replay();
    return StepOutcome::replayed;
  }
  const engine::PoolScope scope(*pool_);
  if (queued_ < steps_before) {
    ++queued_;
    f(fixed_);
    return StepOutcome::queued;
  }
  try {
    recording_.emplace(device, [&] { f(fixed_); });
  } catch (const Error& error) {
    if (engine::device_is_lost()) throw;
    has_failed_ = true;
    if (note_) note_(fmt::format("steps are not recorded but queued op by op: {}", error.what()));
    again();
    f(fixed_);
    return StepOutcome::queued;
  }
  recording_->replay();
  return StepOutcome::recorded;
}

}  // namespace headroom::tasks
