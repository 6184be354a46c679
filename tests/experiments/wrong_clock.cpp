// Preloaded: the wall clock of this process is HEADROOM_CLOCK_AHEAD seconds ahead. Files keep the times of their
// server.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long status = syscall(SYS_clock_gettime, clock, time);
  const char* const ahead = std::getenv("HEADROOM_CLOCK_AHEAD");
  if (status == 0 && clock == CLOCK_REALTIME && ahead != nullptr) time->tv_sec += std::atol(ahead);
  return static_cast<int>(status);
}
