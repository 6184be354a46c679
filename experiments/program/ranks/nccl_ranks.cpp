#include "experiments/program/ranks/ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/tensor.h"
#include "experiments/program/ranks/module.h"
#include "experiments/program/ranks/nccl_calls.h"

namespace headroom::experiments {
namespace {

using engine::Tensor;

/// Seconds that a rank waits for the others to join or leave.
constexpr double patience_of_meeting = 120;

/// One rank's membership in an NCCL group, aborted unless it leaves.
class NcclGroup {
 public:
  NcclGroup(const HeadroomNccl& nccl, int rank) : nccl_(nccl), rank_(rank) {}
  ~NcclGroup() { break_off(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void join(int size, const std::string& id) {
    check(nccl_.join(size, rank_, id.data(), &group_));
    wait_for_all();
  }

  void leave() {
    if (!group_) return;
    check(nccl_.leave(group_));
    wait_for_all();
    nccl_.end(std::exchange(group_, nullptr), true);
  }

  /// Queues the exchange. What follows it on the stream needs no wait; await() does it for the host.
  void exchange(int peer, const Tensor& out, const Tensor& in, double patience) {
    require(group_, "rank {}: NCCL has ended with an earlier error", rank_);
    const auto bytes = [](const Tensor& t) { return static_cast<size_t>(t.numel() * size_of(t.dtype())); };
    check(nccl_.exchange(group_, peer, out.raw(), bytes(out), in.mutable_raw(), bytes(in), engine::context().stream));
    wait(patience, fmt::format("rank {}", peer), [] { return true; });
  }

  void await(engine::Device device, double patience) {
    require(group_, "rank {}: NCCL has ended with an earlier error", rank_);
    wait(patience, "one of the others", [&] { return engine::is_idle(device); });
  }

 private:
  /// Throws NCCL's message and aborts pending operations, which may otherwise wait in the stream for ever.
  void check(const char* problem) {
    if (problem) fail_with(fmt::format("rank {}: NCCL: {}", rank_, problem));
  }
  [[noreturn]] void fail_with(const std::string& message) {
    break_off();
    fail("{}", message);
  }
  void break_off() {
    if (group_) nccl_.end(std::exchange(group_, nullptr), false);
  }
  void wait_for_all() {
    wait(patience_of_meeting, "one of the others", [] { return true; });
  }

  /// Waits until NCCL and `is_done` say that the operation is done: first in a busy loop, then yielding the core.
  void wait(double patience, const std::string& whom, const std::function<bool()>& is_done) {
    using Clock = std::chrono::steady_clock;
    constexpr int eager_tests = 500;
    const Clock::time_point begin = Clock::now();
    for (int tests = 0;; ++tests) {
      bool is_queued = false;
      check(nccl_.ask(group_, &is_queued));
      if (is_queued && is_done()) return;
      if (tests < eager_tests) continue;
      if (std::chrono::duration<double>(Clock::now() - begin).count() > patience)
        fail_with(fmt::format("rank {}: {} has not answered for {:.0f} s (NCCL)", rank_, whom, patience));
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  const HeadroomNccl& nccl_;
  const int rank_;
  void* group_ = nullptr;
};

/// Exchanges bytes between hosts as before, and GPU tensors over NCCL.
class NcclRanks final : public tasks::Ranks {
 public:
  NcclRanks(std::unique_ptr<tasks::Ranks> ranks, std::unique_ptr<NcclGroup> group)
      : ranks_(std::move(ranks)), group_(std::move(group)) {}
  ~NcclRanks() override {
    if (std::uncaught_exceptions() > 0) return;
    try {
      group_->leave();
    } catch (const Error&) {  // nothing is lost: everything sent has arrived
    }
  }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) override {
    ranks_->exchange(peer, out, in, patience);
  }
  void exchange_tensors(int peer, const Tensor& out, const Tensor& in, double patience) override {
    if (out.device().is_cpu()) ranks_->exchange_tensors(peer, out, in, patience);
    else group_->exchange(peer, out, in, patience);
  }
  void await_tensors(engine::Device device, double patience) override {
    if (!device.is_cpu()) group_->await(device, patience);
  }

 private:
  const std::unique_ptr<tasks::Ranks> ranks_;
  const std::unique_ptr<NcclGroup> group_;
};

/// NCCL's functions; null, with the reason, if there are none.
const HeadroomNccl* loaded_nccl(std::string& problem) {
  if (!dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL)) {
    problem = dlerror();
    return nullptr;
  }
  const Module module("headroom-nccl.so");
  problem = module.problem;
  return module.handle ? module.function<HeadroomStartNccl>(headroom_start_nccl_name)() : nullptr;
}

/// The first rank whose `own` is false; -1 for none.
int first_without(tasks::Ranks& ranks, bool own) {
  const std::vector<double> all = tasks::gathered(ranks, {own ? 1.0 : 0.0});
  const auto found = std::find(all.begin(), all.end(), 0.0);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

}  // namespace

std::unique_ptr<tasks::Ranks> over_nccl(std::unique_ptr<tasks::Ranks> ranks, const HeadroomNccl* nccl,
                                        const std::string& problem, std::string& way) {
  int without = first_without(*ranks, nccl != nullptr);
  std::string reason = problem;
  std::unique_ptr<NcclGroup> group;
  if (without < 0) {
    std::string id(nccl->id_bytes, '\0');
    if (const char* const failed = ranks->is_first() ? nccl->make_id(id.data()) : nullptr) {
      reason = failed;
      id.clear();
    }
    id = tasks::told_by_first(*ranks, id, tasks::patience_of_a_step);
    try {
      require(!id.empty(), "NCCL does not start on rank 0{}{}", reason.empty() ? "" : ": ", reason);
      group = std::make_unique<NcclGroup>(*nccl, ranks->rank());
      group->join(ranks->size(), id);
    } catch (const Error& error) {  // such as two ranks on one card; all of them learn it
      reason = error.what();
      group.reset();
    }
    without = first_without(*ranks, group != nullptr);
  }
  if (without >= 0) {
    if (reason.empty()) reason = fmt::format("rank {} has no NCCL", without);
    way = "through host memory: " + reason;
    return ranks;
  }
  way = fmt::format("over NCCL {}.{}.{}", nccl->version / 10000, nccl->version / 100 % 100, nccl->version % 100);
  return std::make_unique<NcclRanks>(std::move(ranks), std::move(group));
}

std::unique_ptr<tasks::Ranks> ranks_on(engine::Device device, std::unique_ptr<tasks::Ranks> ranks, std::string& way) {
  tasks::check_same(*ranks, device.is_cpu() ? "trainings on the CPU" : "trainings on a GPU");
  if (device.is_cpu()) return ranks;
  std::string problem;
  const HeadroomNccl* const nccl = loaded_nccl(problem);
  return over_nccl(std::move(ranks), nccl, problem, way);
}

}  // namespace headroom::experiments
