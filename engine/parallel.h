#pragma once
#include <cstdint>
#include <type_traits>

namespace headroom::engine {

/// Threads available to work started by this thread: the context's, else HEADROOM_THREADS, else processor_limit()'s.
/// Throws Error if HEADROOM_THREADS is not a positive number.
int num_threads();

/// "OpenMP" or "std::thread": the backend of parallel loops, chosen at build time.
const char* parallel_backend();

namespace detail {
using Task = void (*)(const void* data, int64_t index);
void run_tasks(int64_t count, Task task, const void* data);
/// The number of ranges of `grain` elements that cover [0, n). Throws Error when grain < 1.
int64_t count_ranges(int64_t n, int64_t grain);
}  // namespace detail

/// Calls f(i) for every i in [0, count), in any order, on num_threads() threads, each under the caller's Context.
/// Nested calls run serially, and callers in different threads do not wait for each other. Rethrows the first
/// exception. **Never cut work by the number of threads**: results must not depend on it.
template <class F>
void parallel_for(int64_t count, const F& f) {
  detail::run_tasks(
      count, [](const void* g, int64_t i) { (*static_cast<const F*>(g))(i); }, &f);
}

/// Elements per range for a loop that does a few operations on each.
constexpr int64_t elementwise_grain = 1 << 14;

/// Calls f(begin, end) on consecutive ranges of `grain` elements that cover [0, n); the last may be shorter. Throws
/// Error when grain < 1.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, const F& f) {
  parallel_for(detail::count_ranges(n, grain), [&](int64_t i) {
    const int64_t begin = i * grain;
    f(begin, n - begin > grain ? begin + grain : n);
  });
}

/// parallel_for() with `grain` neighbours at a time, so that small ones do not pay for the hand-over.
template <class F>
void parallel_for(int64_t count, int64_t grain, const F& f) {
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace headroom::engine
