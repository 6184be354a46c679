#include "tests/cuda/emulator/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>

#include "tests/cuda/emulator/sanitizer.h"

namespace headroom::engine::cuda::emulator {
namespace {

// The sanitizers' frames are several times larger. Pages that no kernel touches cost nothing.
constexpr size_t stack_bytes = size_t{256} << 10, guard_bytes = 4096;

/// The fiber that handed control to the running one.
Fiber* leaving = nullptr;

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  boost::context::protected_fixedsize_stack allocate(stack_bytes);
  const boost::context::stack_context stack = allocate.allocate();
  bottom_ = static_cast<const char*>(stack.sp) - stack.size + guard_bytes;
  size_ = stack.size - guard_bytes;
  context_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                   allocate, [this](boost::context::fiber&& previous) {
                                     leaving->context_ = std::move(previous);
                                     arrive();
                                     for (;;) body_();
                                     return boost::context::fiber();
                                   });
}

void Fiber::switch_to(Fiber& next) {
  leaving = this;
#ifdef HEADROOM_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&fake_stack_, next.bottom_, next.size_);
#endif
  boost::context::fiber previous = std::move(next.context_).resume();
  leaving->context_ = std::move(previous);
  arrive();
}

void Fiber::arrive() {
#ifdef HEADROOM_ADDRESS_SANITIZER
  // Tells the bounds of the stack that was left: the only way to learn those of the system thread.
  __sanitizer_finish_switch_fiber(fake_stack_, &leaving->bottom_, &leaving->size_);
#endif
}

}  // namespace headroom::engine::cuda::emulator
