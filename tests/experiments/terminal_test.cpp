// What a run shows on a terminal: here a pseudo-terminal.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

/// All that a command writes to its terminal; its exit status in `status`.
std::string shown(const std::filesystem::path& folder, const std::string& arguments, const std::string& before,
                  int& status) {
  const char* program = std::getenv("HEADROOM_PROGRAM");
  REQUIRE(program != nullptr);
  const std::string command = "cd '" + folder.string() + "' && " + before + " exec '" + program + "' " + arguments;
  winsize size{};
  size.ws_row = 40;
  size.ws_col = 200;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  std::string text(1 << 12, 0), all;
  for (ssize_t n = 0; (n = read(terminal, text.data(), text.size())) > 0;) all.append(text, 0, static_cast<size_t>(n));
  close(terminal);
  waitpid(pid, &status, 0);
  return all;
}

}  // namespace

TEST_CASE("a terminal gets a line per trial and a bar for the study; NO_COLOR takes the colours away") {
  // Half of the trials fail: those lines are red.
  const StudyFile study(replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [1e-3, 1e12]"));
  const std::string arguments =
      "run study.toml --threads 1 --set train.optimizer.kind='\"sgd\"' --set train.steps=40 --out ";
  int status = -1;
  const std::string coloured = shown(study.folder(), arguments + "one", "unset NO_COLOR;", status);
  CAPTURE(coloured);
  CHECK(status == 0);
  for (const char* label : {"heads=1 lr=0.001 seed=1   relative_mse ", "heads=2 lr=0.001 seed=2   relative_mse "})
    CHECK(contains(coloured, label));
  CHECK(contains(coloured, "\x1b[31mtrial "));
  CHECK(contains(coloured, " GFLOP/s   "));
  CHECK(contains(coloured, "8/8"));
  const std::string plain = shown(study.folder(), arguments + "two", "NO_COLOR=1", status);
  CHECK(status == 0);
  CHECK(contains(plain, "; the others go on"));
  CHECK_FALSE(contains(plain, "\x1b[31m"));
}
