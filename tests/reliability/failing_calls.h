#pragma once
#include <functional>

namespace headroom::testing {

/// In a test that is linked with faults.cpp: while this lives, of the calls of a kind that the process makes on its
/// files, `count` from the `first` on, counted from 1, fail with `error`; if that is 0, they go on. `action` comes just
/// before the first of them, as what another process does then. One at a time.
class FailingCalls {
 public:
  FailingCalls(const char* kind, long first, int error, long count = 1, std::function<void()> action = {});
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  /// Whether there were so many calls.
  bool are_reached() const;
};

}  // namespace headroom::testing
