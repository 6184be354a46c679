// Preloaded: one call of the process fails, or all from one on. HEADROOM_FAULT=KIND:N[:SECONDS]; the N-th call counts,
// from 1, once the process has opened a study's file (*.toml):
//   write, sync, rename, open, read, malloc   that one call fails
//   stat, look, touch, list                   likewise: fstat(), statx() and fstatat(), futimens(), readdir()
//   full                                      it and every later write fails: the disk is full
//   short                                     it and every later read gives at most seven bytes
//   clock                                     from it on the wall clock is SECONDS ahead; this one counts from the
//   start
// HEADROOM_FAULT_COUNTS=FILE: how many calls of each kind there were, a line "KIND COUNT" each, at the end.
// Calls on standard streams, the system's folders and what is no regular file or folder neither count nor fail.
// A test that is linked with this instead makes its own calls fail (failing_calls.h).
#undef _FILE_OFFSET_BITS  // else open is open64 here, and there are two of each
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "tests/reliability/failing_calls.h"

extern "C" void* __libc_malloc(size_t);
extern "C" void* __libc_memalign(size_t, size_t);

namespace {

enum Kind {
  write_kind,
  sync_kind,
  rename_kind,
  open_kind,
  read_kind,
  stat_kind,
  look_kind,
  touch_kind,
  list_kind,
  malloc_kind,
  full_kind,
  short_kind,
  clock_kind
};
constexpr int kinds = 13;
constexpr const char* names[kinds] = {"write", "sync", "rename", "open", "read",  "stat", "look",
                                      "touch", "list", "malloc", "full", "short", "clock"};

std::atomic<long> counts[kinds];
std::atomic<bool> is_armed = false, is_test = false;  // a test's thousands of syncs would take minutes: none is done
int wanted = -1, own_error = -1;
long at = 0, calls = 1, seconds = 0;
std::function<void()> before;

__attribute__((constructor)) void read_wish() {
  const char* const wish = std::getenv("HEADROOM_FAULT");
  for (int kind = 0; wish != nullptr && kind < kinds; ++kind)
    if (const size_t size = std::strlen(names[kind]); std::strncmp(wish, names[kind], size) == 0 && wish[size] == ':') {
      char* end = nullptr;
      wanted = kind;
      at = std::strtol(wish + size + 1, &end, 10);
      seconds = *end == ':' ? std::strtol(end + 1, nullptr, 10) : 0;
    }
}

__attribute__((destructor)) void write_counts() {
  is_armed = false;
  const char* const path = std::getenv("HEADROOM_FAULT_COUNTS");
  FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  for (int kind = 0; kind < kinds; ++kind) std::fprintf(file, "%s %ld\n", names[kind], counts[kind].load());
  std::fclose(file);
}

/// Counts a call; whether this one is to fail.
bool fails(Kind kind, int error) {
  if (!is_armed) return false;
  const long n = ++counts[kind];
  if (kind != wanted || n < at || (n >= at + calls && kind <= malloc_kind)) return false;
  if (before && n == at) {
    is_armed = false;
    before();
    is_armed = true;
  }
  errno = own_error >= 0 ? own_error : error;
  return own_error != 0;
}

bool is_ours(const char* path) {
  for (const char* folder : {"/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib"})
    if (std::strncmp(path, folder, std::strlen(folder)) == 0) return false;
  return true;
}

bool is_ours(int fd) {
  if (fd <= 2) return false;
  char link[32], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  path[std::max<ssize_t>(size, 0)] = 0;
  struct stat status {};
  return is_ours(path) && fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

bool write_fails(int fd) { return is_armed && is_ours(fd) && (fails(write_kind, ENOSPC) || fails(full_kind, ENOSPC)); }

bool read_fails(int fd, size_t& count) {
  if (!is_armed || !is_ours(fd)) return false;
  if (fails(short_kind, 0)) count = std::min<size_t>(count, 7);
  return fails(read_kind, EIO);
}

bool open_fails(int folder, const char* path, int flags) {
  const size_t size = std::strlen(path);
  if (size > 5 && std::strcmp(path + size - 5, ".toml") == 0) is_armed = true;
  if (!is_armed || !is_ours(path)) return false;
  const bool makes = (flags & O_CREAT) != 0 && faccessat(folder, path, F_OK, 0) != 0;
  if (wanted == full_kind && makes && counts[full_kind] >= at) {
    errno = ENOSPC;
    return true;
  }
  return fails(open_kind, EMFILE);
}

bool sync_fails(int fd) { return is_armed && is_ours(fd) && fails(sync_kind, EIO); }

bool look_fails(const char* path) { return is_armed && is_ours(path) && fails(look_kind, EIO); }

mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(more, int)) : 0;
}

}  // namespace

namespace headroom::testing {

FailingCalls::FailingCalls(const char* kind, long first, int error, long count, std::function<void()> action) {
  wanted = static_cast<int>(
      std::find_if(names, names + kinds, [&](const char* name) { return std::strcmp(name, kind) == 0; }) - names);
  counts[wanted] = 0;
  at = first, calls = count, own_error = error, before = std::move(action);
  is_armed = is_test = true;
}

FailingCalls::~FailingCalls() {
  is_armed = false;
  wanted = own_error = -1;
  before = nullptr;
}

bool FailingCalls::are_reached() const { return counts[wanted] >= at; }

}  // namespace headroom::testing

#define REAL(name) static const auto real = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                           \
  int name(const char* path, int flags, ...) {                               \
    va_list more;                                                            \
    va_start(more, flags);                                                   \
    const mode_t mode = mode_of(flags, more);                                \
    va_end(more);                                                            \
    REAL(name);                                                              \
    return open_fails(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode); \
  }

#define OPENAT(name)                                                               \
  int name(int folder, const char* path, int flags, ...) {                         \
    va_list more;                                                                  \
    va_start(more, flags);                                                         \
    const mode_t mode = mode_of(flags, more);                                      \
    va_end(more);                                                                  \
    REAL(name);                                                                    \
    return open_fails(folder, path, flags) ? -1 : real(folder, path, flags, mode); \
  }

extern "C" {
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
ssize_t write(int fd, const void* from, size_t count) {
  REAL(write);
  return write_fails(fd) ? -1 : real(fd, from, count);
}
ssize_t writev(int fd, const iovec* from, int count) {
  REAL(writev);
  return write_fails(fd) ? -1 : real(fd, from, count);
}
ssize_t pwrite(int fd, const void* from, size_t count, off_t where) {
  REAL(pwrite);
  return write_fails(fd) ? -1 : real(fd, from, count, where);
}
ssize_t pwrite64(int fd, const void* from, size_t count, off64_t where) {
  REAL(pwrite64);
  return write_fails(fd) ? -1 : real(fd, from, count, where);
}
ssize_t read(int fd, void* to, size_t count) {
  REAL(read);
  return read_fails(fd, count) ? -1 : real(fd, to, count);
}
ssize_t pread(int fd, void* to, size_t count, off_t where) {
  REAL(pread);
  return read_fails(fd, count) ? -1 : real(fd, to, count, where);
}
ssize_t pread64(int fd, void* to, size_t count, off64_t where) {
  REAL(pread64);
  return read_fails(fd, count) ? -1 : real(fd, to, count, where);
}
int fsync(int fd) {
  REAL(fsync);
  return sync_fails(fd) ? -1 : is_test ? 0 : real(fd);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  return sync_fails(fd) ? -1 : is_test ? 0 : real(fd);
}
int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return fails(rename_kind, EIO) ? -1 : real(from, to);
}
int renameat2(int from, const char* name, int to, const char* other, unsigned flags) noexcept {
  REAL(renameat2);
  return fails(rename_kind, EIO) ? -1 : real(from, name, to, other, flags);
}
int fstat64(int fd, struct stat64* to) noexcept {
  REAL(fstat64);
  return is_armed && is_ours(fd) && fails(stat_kind, EIO) ? -1 : real(fd, to);
}
int fstatat64(int folder, const char* path, struct stat64* to, int flags) noexcept {
  REAL(fstatat64);
  return look_fails(path) ? -1 : real(folder, path, to, flags);
}
int statx(int folder, const char* path, int flags, unsigned mask, struct statx* to) noexcept {
  REAL(statx);
  return look_fails(path) ? -1 : real(folder, path, flags, mask, to);
}
int futimens(int fd, const timespec* times) noexcept {
  REAL(futimens);
  return is_armed && is_ours(fd) && fails(touch_kind, EPERM) ? -1 : real(fd, times);
}
dirent64* readdir64(DIR* list) {
  REAL(readdir64);
  return fails(list_kind, EIO) ? nullptr : real(list);
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have their own
void* malloc(size_t size) noexcept { return fails(malloc_kind, ENOMEM) ? nullptr : __libc_malloc(size); }
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails(malloc_kind, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** to, size_t alignment, size_t size) noexcept {
  if (fails(malloc_kind, ENOMEM)) return ENOMEM;
  *to = __libc_memalign(alignment, size);
  return *to != nullptr ? 0 : ENOMEM;
}
#endif
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long status = syscall(SYS_clock_gettime, clock, time);
  if (status == 0 && clock == CLOCK_REALTIME && ++counts[clock_kind] >= at && wanted == clock_kind)
    time->tv_sec += seconds;
  return static_cast<int>(status);
}
}
