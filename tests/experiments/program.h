#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"

namespace headroom::testing {

inline std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The program under test as a child process; its output goes to files in `folder`.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::string& arguments, const std::string& before = "",
          const std::string& name = "")
      : folder_(folder), name_(name) {
    const char* program = std::getenv("HEADROOM_PROGRAM");
    REQUIRE(program != nullptr);
    // First, so that the arguments may redirect output elsewhere.
    const std::string command = "cd '" + folder.string() + "' && exec >" + name + "out.txt 2>" + name + "err.txt && " +
                                before + " exec '" + program + "' " + arguments;
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      // A shell that runs the tests in the background ignores the first, nohup the second.
      for (const int number : {SIGINT, SIGHUP}) std::signal(number, SIG_DFL);
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  /// The exit status, or minus the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  bool is_running() {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  void signal(int number) const { kill(pid_, number); }
  std::string out() const { return read(folder_ / (name_ + "out.txt")); }
  std::string err() const { return read(folder_ / (name_ + "err.txt")); }

 private:
  std::filesystem::path folder_;
  std::string name_;  ///< of its output files
  pid_t pid_ = 0;
};

/// Runs to the end: what it printed, after a check that it succeeded. A program without a name of its own may run
/// beside it in `folder`.
inline std::string output_of(const std::filesystem::path& folder, const std::string& arguments,
                             const std::string& before = "") {
  Program program(folder, arguments, before, "done-");
  const int status = program.wait();
  CAPTURE(arguments, program.err());
  CHECK(status == 0);
  return program.out();
}

/// Runs to the end: what it printed as an error, after a check of the exit status and that it is one line.
inline std::string complaint(const std::filesystem::path& folder, const std::string& arguments, int status,
                             const std::string& before = "") {
  Program program(folder, arguments, before);
  CAPTURE(arguments);
  const int got = program.wait();
  const std::string error = program.err();
  CAPTURE(error);
  CHECK(got == status);
  CHECK(std::count(error.begin(), error.end(), '\n') == 1);
  CHECK(error.rfind("headroom: error: ", 0) == 0);
  return error;
}

/// Starts the program `tries` times and kills it after as many microseconds as `wait` says for each, until one run ends
/// before that. How many were killed.
template <class Wait>
int killed_runs(const std::filesystem::path& folder, const std::string& arguments, int tries, const Wait& wait) {
  for (int i = 0; i < tries; ++i) {
    Program cut(folder, arguments, "", "cut-");
    usleep(static_cast<useconds_t>(wait(i)));
    if (!cut.is_running()) return i;
    cut.signal(SIGKILL);
    cut.wait();
  }
  return tries;
}

}  // namespace headroom::testing
