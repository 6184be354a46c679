#pragma once
#include <cstdint>
#include <type_traits>

namespace headroom::engine {

/// Threads that work started from this thread may use: the context's, else HEADROOM_THREADS, else processor_limit()'s.
/// Throws Error when HEADROOM_THREADS is not a positive number.
int num_threads();

/// "OpenMP" or "std::thread": which one runs parallel work, chosen when the program was built.
const char* parallel_backend();

namespace detail {
using Task = void (*)(const void* data, int64_t index);
void run_tasks(int64_t count, Task task, const void* data);
/// Ranges of `grain` elements that cover [0, n). Throws Error when grain < 1.
int64_t count_ranges(int64_t n, int64_t grain);
}  // namespace detail

/// Calls f(i) for every i in [0, count), in any order, on num_threads() threads, each under the caller's Context.
/// Nested calls run serially, and callers in several threads do not wait for each other. The first exception is
/// rethrown here. **How work is cut must not depend on the number of threads**: then results do not either.
template <class F>
void parallel_for(int64_t count, const F& f) {
  detail::run_tasks(
      count, [](const void* g, int64_t i) { (*static_cast<const F*>(g))(i); }, &f);
}

/// Elements of one range, for a loop that does a few operations on each.
constexpr int64_t elementwise_grain = 1 << 14;

/// Calls f(begin, end) on consecutive ranges of `grain` elements (the last one shorter) that cover [0, n). Throws Error
/// when grain < 1.
template <class F>
void parallel_ranges(int64_t n, int64_t grain, const F& f) {
  parallel_for(detail::count_ranges(n, grain), [&](int64_t i) {
    const int64_t begin = i * grain;
    f(begin, n - begin > grain ? begin + grain : n);
  });
}

}  // namespace headroom::engine
