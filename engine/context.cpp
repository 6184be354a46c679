#include "engine/context.h"

#include "engine/error.h"

namespace headroom::engine {
namespace {

thread_local Context context_of_this_thread;

int checked_threads(int threads) {
  require(threads >= 1, "threads: {} is not a positive number", threads);
  return threads;
}

}  // namespace

const Context& context() { return context_of_this_thread; }

ContextScope::ContextScope(const Context& next) : previous_(context_of_this_thread) { context_of_this_thread = next; }
ContextScope::~ContextScope() { context_of_this_thread = previous_; }

void check_stopped() {
  const std::atomic<bool>* const stop = context_of_this_thread.stop;
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped();
}

ThreadScope::ThreadScope(int threads) : ContextScope(with(&Context::threads, checked_threads(threads))) {}

}  // namespace headroom::engine
