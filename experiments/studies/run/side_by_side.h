#pragma once
#include <system_error>
#include <thread>
#include <vector>

namespace headroom::experiments {

/// Calls f(i), which throws nothing, for i from 0 to count - 1, each in a thread of its own, and waits for all. Where
/// the system gives no more threads the calls are fewer, but at least one. Returns how many.
template <class F>
int side_by_side(int count, const F& f) {
  std::vector<std::jthread> threads;
  try {
    while (static_cast<int>(threads.size()) < count) threads.emplace_back(f, static_cast<int>(threads.size()));
  } catch (const std::system_error&) {
    if (threads.empty()) return f(0), 1;
  }
  return static_cast<int>(threads.size());
}

}  // namespace headroom::experiments
