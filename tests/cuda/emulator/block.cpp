#include "tests/cuda/emulator/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/error.h"
#include "tests/cuda/emulator/device/threads.h"
#include "tests/cuda/emulator/device/warp.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/matrix.h"

uint3 threadIdx{}, blockIdx{};
dim3 blockDim, gridDim;

namespace headroom::engine::cuda::emulator {
namespace {

enum class State : uint8_t { ready, barrier, warp, done };

struct Thread {
  uint3 index{};
  State state = State::ready;
  Fiber* fiber = nullptr;  ///< where it was left; null: it has not begun
  Collective at{};         ///< what it waits at
};

/// Lanes that wait for the rest of their mask.
struct Meeting {
  unsigned mask, arrived;
  Collective what;
  void (*combine)(Lanes&);
  Lanes lanes;
};

/// Thrown through a thread of a kernel that has failed, so that its stack can be used again.
struct Abandoned {};

std::string str(const uint3& index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }
std::string str(const Collective& c) { return fmt::format("{} ({}:{})", c.name, c.where.file_name(), c.where.line()); }

bool same_place(const Collective& a, const Collective& b) {
  return a.where.line() == b.where.line() && std::strcmp(a.where.file_name(), b.where.file_name()) == 0 &&
         std::strcmp(a.name, b.name) == 0;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Fibers whose thread has ended. Never destroyed, since their bodies do not end.
std::vector<Fiber*>& idle_fibers() {
  static auto* fibers = new std::vector<Fiber*>;
  return *fibers;
}

/// The threads of one block; used for all blocks of a launch, one after another.
class Block {
 public:
  Block(const Kernel& kernel, Random& random);
  void run(const uint3& index);

  // Called by the running thread.
  /// How many threads gave `true`.
  int barrier(const Collective& what, bool predicate);
  void meet(unsigned mask, void* payload, const Collective& what, void (*combine)(Lanes&));
  void* shared() const;
  int lane() const { return static_cast<int>(running_ % 32); }
  unsigned live_lanes() const;
  /// The body of every fiber: runs the drawn thread and, on the same stack, those drawn next that have not begun.
  void work();

 private:
  bool draw();
  void make_ready();
  void hand_over(bool drawn);
  void leave();
  void wake(size_t thread);
  void wake_lanes(size_t warp, unsigned mask);
  std::string place(size_t thread) const;
  std::string what_it_does(size_t thread) const;
  std::string explain_deadlock() const;

  const Kernel& kernel_;
  Random& random_;
  std::vector<Thread> threads_;
  std::vector<size_t> ready_;
  bool runs_ahead_ = false;                     ///< until the next barrier: see make_ready()
  std::vector<std::vector<Meeting>> meetings_;  ///< of each warp
  std::unique_ptr<void, Free> shared_;
  size_t running_ = 0, returned_ = 0, waiting_ = 0;
  int true_ = 0, true_of_last_ = 0;  ///< predicates of the barrier that fills, and of the last that was passed
  bool failed_ = false;
  std::string failure_;
  Fiber host_;
  Fiber* current_ = &host_;
};

/// Fibers and device functions have no other way to the block that runs.
Block* running_block = nullptr;

Block& block() {
  require(running_block != nullptr, "a device function was called outside of a kernel");
  return *running_block;
}

Block::Block(const Kernel& kernel, Random& random) : kernel_(kernel), random_(random) {
  threads_.resize(size_t{kernel.threads.x} * kernel.threads.y * kernel.threads.z);
  meetings_.resize((threads_.size() + 31) / 32);
  if (kernel.shared_bytes == 0) return;
  void* memory = nullptr;
  require(posix_memalign(&memory, 128, kernel.shared_bytes) == 0, "no memory for shared memory");
  shared_.reset(memory);
}

void Block::run(const uint3& index) {
  blockIdx = index;
  if (shared_) std::memset(shared_.get(), 0xff, kernel_.shared_bytes);
  const dim3& n = kernel_.threads;
  for (size_t i = 0; i < threads_.size(); ++i)
    threads_[i] = {.index = {static_cast<unsigned>(i % n.x), static_cast<unsigned>(i / n.x % n.y),
                             static_cast<unsigned>(i / n.x / n.y)}};
  returned_ = waiting_ = 0;
  forget_copies();
  make_ready();
  running_block = this;
  current_ = &host_;
  hand_over(draw());
  if (!failed_ && returned_ < threads_.size()) {
    failed_ = true;
    failure_ = explain_deadlock();
  }
  if (failed_) {  // each thread that was left throws where it stands, and so frees its fiber
    ready_.clear();
    for (size_t i = 0; i < threads_.size(); ++i)
      if (threads_[i].fiber) wake(i);
    hand_over(draw());
  }
  running_block = nullptr;
  require(!failed_, "{}", failure_);
}

/// Lets all threads go on. Until the next barrier either any of them is drawn at any time, or one warp after another
/// runs as far as it gets, through all its shuffles and votes: what only a barrier keeps from happening, a warp that
/// overtakes the others, does not happen by drawing single threads.
void Block::make_ready() {
  std::vector<size_t> warps((threads_.size() + 31) / 32);
  std::iota(warps.begin(), warps.end(), size_t{0});
  runs_ahead_ = random_.below(2) == 1;
  random_.shuffle(warps);
  ready_.clear();
  for (const size_t warp : warps) wake_lanes(warp, ~0u);
}

/// Draws the thread that runs next, if any can.
bool Block::draw() {
  if (ready_.empty()) return false;
  const size_t i = runs_ahead_ ? ready_.size() - 1 : random_.below(ready_.size());
  running_ = ready_[i];
  ready_[i] = ready_.back();
  ready_.pop_back();
  threadIdx = threads_[running_].index;
  return true;
}

/// Leaves the current stack for that of the drawn thread, or for the host's.
void Block::hand_over(bool drawn) {
  Fiber *from = current_, *to = &host_;
  if (drawn) {
    to = std::exchange(threads_[running_].fiber, nullptr);
    if (!to && idle_fibers().empty()) to = new Fiber([] { block().work(); });
    if (!to) {
      to = idle_fibers().back();
      idle_fibers().pop_back();
    }
  }
  current_ = to;
  if (to != from) from->switch_to(*to);
}

void Block::work() {
  bool drawn = true;
  do {
    try {
      kernel_.thread();
    } catch (const Abandoned&) {
    } catch (const std::exception& e) {
      if (!failed_) failure_ = place(running_) + ": " + e.what();
      failed_ = true;
      ready_.clear();
    }
    threads_[running_].state = State::done;
    ++returned_;
    drawn = draw();
  } while (drawn && !threads_[running_].fiber);
  idle_fibers().push_back(current_);
  hand_over(
      drawn);  // comes back when another thread, perhaps of another block, was given this fiber: `this` may be gone
}

/// Suspends the running thread until it is drawn; someone has woken it or will.
void Block::leave() {
  threads_[running_].fiber = current_;
  hand_over(draw());
  if (failed_) throw Abandoned();
}

void Block::wake(size_t thread) {
  threads_[thread].state = State::ready;
  ready_.push_back(thread);
}

/// Lanes of a warp, in any order: who is woken last is drawn first where warps run ahead.
void Block::wake_lanes(size_t warp, unsigned mask) {
  const size_t first = 32 * warp, count = std::min<size_t>(32, threads_.size() - first), before = ready_.size();
  for (size_t i = 0; i < count; ++i)
    if (mask >> i & 1u) wake(first + i);
  for (size_t i = ready_.size(); i > before + 1; --i)
    std::swap(ready_[i - 1], ready_[before + random_.below(i - before)]);
}

int Block::barrier(const Collective& what, bool predicate) {
  threads_[running_].state = State::barrier;
  threads_[running_].at = what;
  true_ += predicate;
  if (++waiting_ == threads_.size()) {
    for (size_t i = 0; i < threads_.size(); ++i)
      if (!same_place(threads_[i].at, what))
        fail("waits at {}, but thread {} waits at {}", str(what), str(threads_[i].index), str(threads_[i].at));
    true_of_last_ = std::exchange(true_, 0);
    waiting_ = 0;
    make_ready();
  }
  leave();
  return true_of_last_;
}

void Block::meet(unsigned mask, void* payload, const Collective& what, void (*combine)(Lanes&)) {
  const size_t warp = running_ / 32, first = warp * 32, lanes = std::min<size_t>(32, threads_.size() - first);
  const unsigned self = 1u << lane();
  if (!(mask & self)) fail("{}: mask {:#010x} lacks the calling lane, {}", str(what), mask, lane());
  if (lanes < 32 && mask >> lanes != 0)
    fail("{}: mask {:#010x} names lanes that do not exist: the warp has {}", str(what), mask, lanes);
  std::vector<Meeting>& meetings = meetings_[warp];
  auto meeting = std::find_if(meetings.begin(), meetings.end(), [&](const Meeting& m) { return m.mask == mask; });
  if (meeting == meetings.end()) meeting = meetings.insert(meeting, {mask, 0, what, combine, {}});
  if (!same_place(meeting->what, what) || meeting->combine != combine)
    fail("is at {}, but other lanes of mask {:#010x} wait at {}", str(what), mask, str(meeting->what));
  meeting->lanes.payload[lane()] = payload;
  meeting->arrived |= self;
  threads_[running_].state = State::warp;
  threads_[running_].at = what;
  if (meeting->arrived == mask) {
    Meeting complete = *meeting;
    meetings.erase(meeting);
    complete.combine(complete.lanes);
    wake_lanes(warp, mask);
  }
  leave();
}

unsigned Block::live_lanes() const {
  const size_t first = running_ / 32 * 32;
  unsigned mask = 0;
  for (size_t i = first; i < std::min(first + 32, threads_.size()); ++i)
    if (threads_[i].state != State::done) mask |= 1u << (i - first);
  return mask;
}

void* Block::shared() const {
  require(shared_ != nullptr, "asks for dynamic shared memory, of which its launch gives none");
  return shared_.get();
}

std::string Block::place(size_t thread) const {
  return fmt::format("kernel {}, block {}, thread {}", kernel_.name, str(blockIdx), str(threads_[thread].index));
}

std::string Block::what_it_does(size_t thread) const {
  const Thread& t = threads_[thread];
  return t.state == State::done ? "has returned" : "waits at " + str(t.at);
}

/// What the first thread that waits is waiting for: a lane of its mask, or any thread that is not at a barrier.
std::string Block::explain_deadlock() const {
  const auto is = [](State state) { return [state](const Thread& t) { return t.state == state; }; };
  const auto at = [&](auto thread) { return static_cast<size_t>(thread - threads_.begin()); };
  for (size_t warp = 0; warp < meetings_.size(); ++warp)
    for (const Meeting& m : meetings_[warp]) {
      const size_t lane = warp * 32 + static_cast<size_t>(std::countr_zero(m.arrived));
      const size_t missing = warp * 32 + static_cast<size_t>(std::countr_zero(m.mask & ~m.arrived));
      return fmt::format("{}: waits at {} for lanes {:#010x}, but thread {} {}", place(lane), str(m.what), m.mask,
                         str(threads_[missing].index), what_it_does(missing));
    }
  const size_t waits = at(std::find_if(threads_.begin(), threads_.end(), is(State::barrier)));
  const size_t returned = at(std::find_if(threads_.begin(), threads_.end(), is(State::done)));
  return fmt::format("{}: waits at {}, but thread {} {}", place(waits), str(threads_[waits].at),
                     str(threads_[returned].index), what_it_does(returned));
}

}  // namespace

void run(const Kernel& kernel, Random& random) {
  gridDim = kernel.blocks;
  blockDim = kernel.threads;
  const dim3& n = kernel.blocks;
  std::vector<size_t> order(size_t{n.x} * n.y * n.z);
  std::iota(order.begin(), order.end(), size_t{0});
  random.shuffle(order);
  Block block(kernel, random);
  for (const size_t i : order)
    block.run(
        {static_cast<unsigned>(i % n.x), static_cast<unsigned>(i / n.x % n.y), static_cast<unsigned>(i / n.x / n.y)});
}

void* dynamic_shared_memory() { return block().shared(); }
int lane() { return block().lane(); }

void warp_collective(unsigned mask, void* payload, const Collective& what, void (*combine)(Lanes&)) {
  block().meet(mask, payload, what, combine);
}

void Lanes::read_outside(int lane, int source) const {
  fail("lane {} reads lane {}, which is not in the mask", lane, source);
}

unsigned ballot(unsigned mask, bool predicate, const char* name, const std::source_location& where) {
  unsigned vote = predicate;
  warp_collective(mask, &vote, {name, where}, [](Lanes& lanes) {
    unsigned votes = 0;
    for (int i = 0; i < 32; ++i)
      if (lanes.payload[i] && *static_cast<unsigned*>(lanes.payload[i]) != 0) votes |= 1u << i;
    for (void* payload : lanes.payload)
      if (payload) *static_cast<unsigned*>(payload) = votes;
  });
  return vote;
}

}  // namespace headroom::engine::cuda::emulator

namespace emulator = headroom::engine::cuda::emulator;
using std::source_location;

void __syncthreads(source_location where) { emulator::block().barrier({"__syncthreads", where}, false); }
int __syncthreads_count(int predicate, source_location where) {
  return emulator::block().barrier({"__syncthreads_count", where}, predicate != 0);
}
int __syncthreads_and(int predicate, source_location where) {
  return emulator::block().barrier({"__syncthreads_and", where}, predicate == 0) == 0;
}
int __syncthreads_or(int predicate, source_location where) {
  return emulator::block().barrier({"__syncthreads_or", where}, predicate != 0) != 0;
}
void __trap(source_location where) { headroom::fail("__trap ({}:{})", where.file_name(), where.line()); }

void __syncwarp(unsigned mask, const source_location& where) {
  int nothing = 0;
  emulator::warp_collective(mask, &nothing, {"__syncwarp", where}, [](emulator::Lanes&) {});
}
unsigned __ballot_sync(unsigned mask, int predicate, const source_location& where) {
  return emulator::ballot(mask, predicate != 0, "__ballot_sync", where);
}
int __any_sync(unsigned mask, int predicate, const source_location& where) {
  return emulator::ballot(mask, predicate != 0, "__any_sync", where) != 0;
}
int __all_sync(unsigned mask, int predicate, const source_location& where) {
  return emulator::ballot(mask, predicate != 0, "__all_sync", where) == mask;
}
unsigned __activemask() { return emulator::block().live_lanes(); }
