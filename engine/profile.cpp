#include "engine/profile.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

double clock_microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Null on the CPU, and where the device does not time its work.
const DeviceTimes* times_of(Device device) {
  if (device.is_cpu()) return nullptr;
  const DeviceTimes& times = backend_of(device).times;
  return times.mark ? &times : nullptr;
}

}  // namespace

Profile::Profile(Device device)
    : device_(device), stream_(context().stream), start_(clock_microseconds()), outer_(active_profile) {
  if (const DeviceTimes* times = times_of(device_)) {
    synchronize(device_);
    start_ = clock_microseconds();
    zero_ = times->mark(stream_);
  }
  active_profile = this;
}

Profile::~Profile() {
  active_profile = outer_;
  const DeviceTimes* times = zero_ ? times_of(device_) : nullptr;
  if (!times) return;
  times->forget(zero_);
  for (const Span& span : spans_) {
    times->forget(span.first);
    times->forget(span.last);
  }
}

double Profile::now() const { return clock_microseconds() - start_; }

void Profile::begin(const char* name) {
  const DeviceTimes* times = times_of(device_);
  if (times && times->push_range) times->push_range(name);
  const size_t outer = open_.empty() ? spans_.size() : open_.back();
  open_.push_back(spans_.size());
  spans_.push_back({name, now(), 0, times ? times->mark(stream_) : nullptr, nullptr, outer});
}

void Profile::end() {
  const DeviceTimes* times = times_of(device_);
  Span& span = spans_[open_.back()];
  open_.pop_back();
  if (times) span.last = times->mark(stream_);
  span.end = now();
  if (times && times->pop_range) times->pop_range();
}

std::vector<ProfiledOp> Profile::ops() const {
  const DeviceTimes* times = times_of(device_);
  if (times) synchronize(device_);
  std::vector<ProfiledOp> out;
  std::vector<size_t> places(spans_.size());  // in `out`
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    if (span.end == 0) continue;  // still open
    const double time = span.end - span.begin;
    ProfiledOp op{span.name, span.begin, time, span.begin, time, 0, span.work, out.size()};
    if (times && span.first && span.last) {
      op.device_begin = times->microseconds(zero_, span.first);
      op.device_time = times->microseconds(span.first, span.last);
    }
    op.own_time = op.device_time;
    places[i] = out.size();
    if (span.outer != i && spans_[span.outer].end != 0) {
      op.outer = places[span.outer];
      out[op.outer].own_time -= op.device_time;
    }
    out.push_back(op);
  }
  return out;
}

std::string profile_trace(const std::vector<ProfiledOp>& ops, Device device) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const auto track = [&](int tid, const std::string& name) {
    fmt::format_to(std::back_inserter(text),
                   R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":"{}"}}}})", tid, name);
  };
  track(1, "host");
  const bool has_device = !device.is_cpu();
  if (has_device) text += ",", track(2, device.str());
  const auto event = [&](int tid, const char* name, double begin, double time) {
    fmt::format_to(std::back_inserter(text),
                   ",\n"
                   R"({{"ph":"X","name":"{}","cat":"op","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
                   name, tid, begin, time);
  };
  for (const ProfiledOp& op : ops) {
    event(1, op.name, op.host_begin, op.host_time);
    if (has_device) event(2, op.name, op.device_begin, op.device_time);
  }
  return text + "]}\n";
}

}  // namespace headroom::engine
