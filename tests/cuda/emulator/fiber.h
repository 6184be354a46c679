#pragma once
#include <boost/context/fiber.hpp>
#include <functional>

namespace headroom::engine::cuda::emulator {

/// A stack of its own on which work runs and from which it can be left at any point, to go on later. One that was made
/// with a body never ends: the body hands control on and starts anew when it gets it back.
class Fiber {
 public:
  /// The stack that the system thread runs on already.
  Fiber() = default;
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves this fiber, which is the running one, and runs `next` where that was left.
  void switch_to(Fiber& next);

 private:
  void arrive();

  std::function<void()> body_;
  boost::context::fiber context_;
  // What the address sanitizer needs to know of a stack.
  const void* bottom_ = nullptr;
  size_t size_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace headroom::engine::cuda::emulator
