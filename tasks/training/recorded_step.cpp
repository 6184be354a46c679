#include "tasks/training/recorded_step.h"

#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::tasks {
namespace {

bool is_alike(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() && a.shape() == b.shape() && a.dtype() == b.dtype();
}

/// A batch that is on the device from the first step on, and always the same, is where the recording reads it.
void copy(const Tensor& to, const Tensor& from) {
  if (to.defined() && to.raw() != from.raw()) engine::copy_inplace(to, from.contiguous());
}

}  // namespace

bool RecordedStep::fits(const Batch& batch) const {
  return is_alike(fixed_.input, batch.input) && is_alike(fixed_.target, batch.target) &&
         is_alike(fixed_.key_mask, batch.key_mask) && is_alike(fixed_.response, batch.response);
}

engine::Recorder::Turn RecordedStep::run(const Batch& batch, engine::Device device,
                                         const std::function<void(const Batch&)>& f,
                                         const std::function<void()>& again) {
  if (!has_failed_ && !recorder_) {
    fixed_ = batch.to(device);
    recorder_.emplace(device);
  }
  if (has_failed_ || !fits(batch)) {
    f(batch.to(device));
    return engine::Recorder::Turn::queued;
  }
  copy(fixed_.input, batch.input);
  copy(fixed_.target, batch.target);
  copy(fixed_.key_mask, batch.key_mask);
  copy(fixed_.response, batch.response);
  const engine::Recorder::Turn turn = recorder_->turn();
  try {
    recorder_->run([&] { f(fixed_); });
    return turn;
  } catch (const Error& error) {
    if (turn != engine::Recorder::Turn::recorded || engine::device_is_lost()) throw;
    has_failed_ = true;
    if (note_) note_(fmt::format("steps are not recorded but queued op by op: {}", error.what()));
  }
  again();
  f(fixed_);
  return engine::Recorder::Turn::queued;
}

}  // namespace headroom::tasks
