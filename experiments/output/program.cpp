#include "experiments/output/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "engine/error.h"
#include "experiments/output/text.h"

extern char** environ;

namespace headroom::experiments {
namespace {

/// An anonymous file in memory, so that a full disk does not matter. Files rather than pipes: nothing needs draining
/// while a program runs, so nothing can dead-lock.
class TemporaryFile {
 public:
  TemporaryFile() : file_(fdopen(memfd_create("headroom", MFD_CLOEXEC), "w+")) {
    require(file_ != nullptr, "cannot make a temporary file: {}", std::generic_category().message(errno));
  }
  int descriptor() const { return fileno(file_.get()); }

  void write(const std::string& text) {
    const bool ok =
        std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0;
    require(ok, "cannot write a temporary file: {}", std::generic_category().message(errno));
    std::rewind(file_.get());
  }

  std::string read() {
    std::string text;
    char buffer[4096];
    std::rewind(file_.get());
    while (const size_t n = std::fread(buffer, 1, sizeof buffer, file_.get())) text.append(buffer, n);
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// Files in place of a program's standard input, output and errors; -1: /dev/null.
using Streams = std::array<int, 3>;

/// Starts `program`, in a process group of its own if it `is_apart`. Throws Error if the system refuses.
pid_t spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments, const Streams& streams,
            bool is_apart) {
  std::vector<std::string> texts{program.string()};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (const int file = streams[static_cast<size_t>(stream)]; file >= 0)
      posix_spawn_file_actions_adddup2(&actions, file, stream);
    else posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (is_apart) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int refused = posix_spawn(&child, texts[0].c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  require(refused == 0, "cannot run {}: {}", texts[0], std::generic_category().message(refused));
  return child;
}

/// The exit status of `child`; nullopt if it was killed after `seconds`.
std::optional<int> wait_for(pid_t child, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int status = 0;;) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    require(done == 0 || errno == EINTR, "waitpid: {}", std::generic_category().message(errno));
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// A name on PATH, or a path.
std::optional<std::filesystem::path> program_of(const std::string& text) {
  if (text.find('/') == std::string::npos) return find_program(text);
  return access(text.c_str(), X_OK) == 0 ? std::make_optional<std::filesystem::path>(text) : std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;  // a shell reads it as the current folder; no place to run programs from
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(program, ignored) && access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::string& input, double seconds) {
  TemporaryFile from, output, errors;
  from.write(input);
  const Streams streams{from.descriptor(), output.descriptor(), errors.descriptor()};
  const std::optional<int> status = wait_for(spawn(program, arguments, streams, false), seconds);
  require(status.has_value(), "{} did not end within {} s", program.string(), seconds);
  return {*status, output.read(), errors.read()};
}

std::string joined_lines(std::string_view text) {
  std::string out;
  std::istringstream lines(clean(text));
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t") != std::string::npos) out += (out.empty() ? "" : "; ") + line;
  return out;
}

void open_page(const std::filesystem::path& page) {
  const std::string target = std::filesystem::absolute(page).string();
  // Its output is dropped, and it outlives us: Ctrl-C on our terminal is not meant for it.
  const auto start = [&](const std::filesystem::path& program) { spawn(program, {target}, {-1, -1, -1}, true); };
  // BROWSER is a list and the user's choice, so nothing else is tried after it.
  if (const char* const browser = std::getenv("BROWSER"); browser && *browser) {
    std::istringstream list(browser);
    for (std::string entry; std::getline(list, entry, ':');)
      if (const auto program = program_of(entry)) return start(*program);
    fail("BROWSER={}: there is no such program; the report is {}", browser, target);
  }
  for (const char* name : {"xdg-open", "open"})
    if (const auto program = find_program(name)) return start(*program);
  fail("no browser: BROWSER is not set and xdg-open is not installed; the report is {}", target);
}

}  // namespace headroom::experiments
