#include "tests/hostile/process.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "engine/error.h"

namespace headroom::hostile {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_instrumented = true;  // the sanitizers reserve terabytes of address space, and are slow
#else
constexpr bool is_instrumented = false;
#endif
constexpr rlim_t address_space = rlim_t{6} << 30, file_size = rlim_t{256} << 20;
constexpr uid_t nobody = 65534;
constexpr int not_executable = 126;

/// Everything that the child needs, made before the fork: other threads may hold the allocator's lock during it.
struct Launch {
  std::vector<std::string> words, settings;
  std::vector<char*> arguments, environment;
  std::string folder, in, out, err;
  bool in_closed = false, out_closed = false, err_closed = false, drops_rights = false;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void limit(int what, rlim_t value) {
  const rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource>(what), &both);
}

void connect(int stream, const std::string& path, bool is_closed, int flags) {
  if (is_closed) {
    close(stream);
    return;
  }
  const int fd = open(path.c_str(), flags, 0644);
  if (fd < 0 || dup2(fd, stream) < 0) _exit(not_executable);
  if (fd != stream) close(fd);
}

[[noreturn]] void become(const Launch& launch) {
  setpgid(0, 0);
  connect(0, launch.in, launch.in_closed, O_RDONLY);
  connect(1, launch.out, launch.out_closed, O_WRONLY | O_CREAT | O_TRUNC);
  connect(2, launch.err, launch.err_closed, O_WRONLY | O_CREAT | O_TRUNC);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, file_size);
  if (!is_instrumented) limit(RLIMIT_AS, address_space);
  if (chdir(launch.folder.c_str()) != 0) _exit(not_executable);
  if (launch.drops_rights && (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0))
    _exit(not_executable);
  execve(launch.arguments[0], launch.arguments.data(), launch.environment.data());
  _exit(not_executable);
}

std::string start_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(size_t{1} << 20, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

void give_to_nobody(const fs::path& folder) {
  require(chown(folder.c_str(), nobody, nobody) == 0, "{}: chown: {}", folder.string(), std::strerror(errno));
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    require(lchown(entry.path().c_str(), nobody, nobody) == 0, "{}: {}", entry.path().string(), std::strerror(errno));
}

}  // namespace

Outcome run_program(const std::string& program, const Case& one, const fs::path& folder, const fs::path& logs) {
  if (is_instrumented && one.is_limited) {
    Outcome skipped;
    skipped.is_refused = true;
    return skipped;
  }
  Launch launch;
  launch.words = {program};
  launch.words.insert(launch.words.end(), one.arguments.begin(), one.arguments.end());
  if (!one.script.empty()) launch.words = {"/bin/bash", "-c", one.script};
  std::map<std::string, std::string> environment{{"HOME", (folder / "home").string()},
                                                 {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                                 {"LC_ALL", "C.UTF-8"},
                                                 {"HEADROOM", program},
                                                 {"HEADROOM_THREADS", "1"}};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH"})
    if (const char* value = std::getenv(name)) environment[name] = value;
  for (const auto& [name, value] : one.environment) environment[name] = value;
  for (const auto& [name, value] : environment) launch.settings.push_back(name + "=" + value);
  launch.arguments = pointers(launch.words);
  launch.environment = pointers(launch.settings);
  launch.folder = folder.string();
  launch.in = one.streams.in.empty() ? "/dev/null" : one.streams.in;
  if (one.streams.text) {
    launch.in = (logs / "in").string();
    std::ofstream(launch.in, std::ios::binary) << *one.streams.text;
  }
  const fs::path out = logs / "out", err = logs / "err";
  launch.out = one.streams.out.empty() ? out.string() : one.streams.out;
  launch.err = one.streams.err.empty() ? err.string() : one.streams.err;
  launch.in_closed = launch.in == "closed";
  launch.out_closed = launch.out == "closed";
  launch.err_closed = launch.err == "closed";
  launch.drops_rights = one.is_unprivileged && geteuid() == 0;
  if (launch.drops_rights) give_to_nobody(folder);

  const pid_t child = fork();
  require(child >= 0, "fork: {}", std::strerror(errno));
  if (child == 0) become(launch);

  using Clock = std::chrono::steady_clock;
  const double seconds = one.seconds * (is_instrumented ? 10 : 1);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  Outcome outcome;
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, WNOHANG, &usage) == 0) {
    if (Clock::now() > end) {
      outcome.is_late = true;
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      wait4(child, &status, 0, &usage);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(-child, SIGKILL);  // what it may have started
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.is_refused = one.is_unprivileged && outcome.status == not_executable;
  outcome.megabytes = is_instrumented ? 0 : usage.ru_maxrss / 1024;
  outcome.out = start_of(out);
  outcome.err = start_of(err);
  std::error_code none;
  outcome.err_size = static_cast<int64_t>(fs::file_size(err, none));
  if (none) outcome.err_size = 0;
  return outcome;
}

}  // namespace headroom::hostile
