#include "experiments/report/gnuplot.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "engine/error.h"
#include "experiments/report/text.h"

extern char** environ;

namespace headroom::experiments {
namespace {

/// An anonymous temporary file. Files rather than pipes: nothing to drain while gnuplot runs, so nothing can dead-lock.
class TemporaryFile {
 public:
  TemporaryFile() : file_(std::tmpfile()) {
    require(file_ != nullptr, "gnuplot: cannot make a temporary file: {}", std::generic_category().message(errno));
  }
  int descriptor() const { return fileno(file_.get()); }

  void write(const std::string& text) {
    const bool ok =
        std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0;
    require(ok, "gnuplot: cannot write a temporary file: {}", std::generic_category().message(errno));
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

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void redirect(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// The exit status of `child`; nullopt when it had to be killed after `seconds`.
std::optional<int> wait_for(pid_t child, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int status = 0;;) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    require(done == 0 || errno == EINTR, "gnuplot: waitpid: {}", std::generic_category().message(errno));
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::optional<std::filesystem::path> find_gnuplot() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;  // "the current folder" to a shell; not a place to run programs from
    const std::filesystem::path program = std::filesystem::path(folder) / "gnuplot";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(program, ignored) && access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

std::string run_gnuplot(const std::filesystem::path& program, const std::string& script, double seconds) {
  TemporaryFile input, output, errors;
  input.write(script);
  FileActions actions;
  actions.redirect(input.descriptor(), STDIN_FILENO);
  actions.redirect(output.descriptor(), STDOUT_FILENO);
  actions.redirect(errors.descriptor(), STDERR_FILENO);
  // -d: the figure does not depend on the user's ~/.gnuplot.
  std::string name = program.string(), defaults = "-d", from_input = "-";
  char* arguments[] = {name.data(), defaults.data(), from_input.data(), nullptr};
  pid_t child = 0;
  const int refused = posix_spawn(&child, name.c_str(), actions.get(), nullptr, arguments, environ);
  require(refused == 0, "cannot run {}: {}", name, std::generic_category().message(refused));
  const std::optional<int> status = wait_for(child, seconds);
  require(status.has_value(), "{} did not end within {} s", name, seconds);
  const std::string result = output.read();
  if (*status != 0 || result.empty()) fail("{} failed with status {}: {}", name, *status, clean(errors.read()));
  return result;
}

std::string gnuplot_string(const std::string& text) {
  std::string out = "'";
  for (char c : clean(text)) {
    // gnuplot's own escape, the quote doubled, fails on two quotes in a row: the typographic quote needs none.
    if (c == '\'') out += "\u2019";
    else out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

}  // namespace headroom::experiments
