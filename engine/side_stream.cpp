#include "engine/side_stream.h"

#include <algorithm>
#include <utility>

#include "engine/exception.h"
#include "engine/storage.h"
#include "engine/switch.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

thread_local SideStream* current = nullptr;

Context on_stream(void* stream) {
  Context next = context();
  next.stream = stream;
  return next;
}

}  // namespace

SideStream* side_stream() { return current; }

bool uses_side_stream() {
  static const bool uses = !is_off("HEADROOM_SIDE_STREAM");
  return uses;
}

SideStream::Use::Use(SideStream& side) {
  side.main_ = context().stream;
  current = &side;
}

SideStream::Use::~Use() {
  try {
    current->join();
  } catch (const Error&) {
    // The device is lost, which the next call will say; nothing reuses the memory then.
    current->is_forked_ = false;
  }
  current = nullptr;
}

void SideStream::use(const std::shared_ptr<Storage>& storage) {
  void* const here = context().stream;
  if (!stream_ || here != stream_->handle()) return storage->used_on(here);
  const Block* const block = storage->block();
  if (block && block->stream() == here) return;
  storage->used_on(main_);  // which is after this work from the join on
  if (std::find(open_.storages.begin(), open_.storages.end(), storage) != open_.storages.end()) return;
  open_.storages.push_back(storage);
  if (block && block->is_pooled()) open_.bytes += static_cast<int64_t>(block->bytes());
}

void* SideStream::fork() {
  const DeviceQueues& queues = backend_of(device_).queues;
  if (!stream_) stream_.emplace(device_, true);
  close();
  queues.wait(stream_->handle(), queues.mark(main_).get());
  is_forked_ = true;
  return stream_->handle();
}

void SideStream::join() {
  if (!is_forked_ || context().stream != main_) return;  // within a SideScope: whoever opened it joins
  const DeviceQueues& queues = backend_of(device_).queues;
  queues.wait(main_, queues.mark(stream_->handle()).get());
  is_forked_ = false;
  open_ = {};
  held_.clear();
  bytes_ = 0;
}

void SideStream::close() {
  if (open_.storages.empty()) return;
  const DeviceQueues& queues = backend_of(device_).queues;
  open_.end = queues.mark(stream_->handle());
  bytes_ += open_.bytes;
  held_.push_back(std::exchange(open_, {}));
  for (; bytes_ > most_held_; held_.pop_front()) {
    queues.wait(main_, held_.front().end.get());
    bytes_ -= held_.front().bytes;
  }
}

SideScope::SideScope()
    : ContextScope(current && context().stream == current->main_ ? on_stream(current->fork()) : context()) {}

void join_side() {
  if (current) current->join();
}

}  // namespace headroom::engine
