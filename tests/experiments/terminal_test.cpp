// What a run shows on a terminal: here a pseudo-terminal.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/run/progress.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// All that a command writes to its terminal; its exit status in `status`.
std::string shown(const std::filesystem::path& folder, const std::string& arguments, const std::string& before,
                  int& status, unsigned short columns = 200) {
  const char* program = std::getenv("HEADROOM_PROGRAM");
  REQUIRE(program != nullptr);
  const std::string command = "cd '" + folder.string() + "' && " + before + " exec '" + program + "' " + arguments;
  winsize size{};
  size.ws_row = 40;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  std::string text(1 << 12, 0), all;
  for (ssize_t n = 0; (n = ::read(terminal, text.data(), text.size())) > 0;)
    all.append(text, 0, static_cast<size_t>(n));
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
  CHECK(contains(coloured, " GFLOP/s"));
  CHECK(contains(coloured, "8/8"));
  CHECK(contains(coloured, "\x1b[33mundecided\x1b[0m"));
  const std::string plain = shown(study.folder(), arguments + "two", "NO_COLOR=1", status);
  CHECK(status == 0);
  CHECK(contains(plain, "; the others go on"));
  CHECK_FALSE(contains(plain, "\x1b[31m"));
}

TEST_CASE("time left, trials, loss and rate stand in a line of 80 characters and less; the bar gives way") {
  ProgressText at;
  at.done = 12;
  at.total = 81;
  at.fraction = 0.15;
  at.left = 4330;
  at.so_far = 700;
  at.shown.loss = 0.01234;
  at.gflops = 12.34;
  at.shown.label = "white noise: heads=64 lr=0.003 seed=101";
  at.shown.step = 120;
  at.shown.steps = 3000;
  CHECK(progress_text(at, 61) == "1:12:10 left   12/81   [▌   ]   loss 0.01234     12.3 GFLOP/s");
  CHECK(progress_text(at, 52) == "1:12:10 left   12/81   loss 0.01234     12.3 GFLOP/s");
  CHECK(progress_text(at, 12) == "1:12:10 left");
  for (int columns = 1; columns < 200; ++columns) {
    const std::string line = progress_text(at, columns);
    CAPTURE(line);
    CHECK(display_width(line) <= static_cast<size_t>(columns));
    if (columns >= 52) CHECK(contains(line, "loss 0.01234     12.3 GFLOP/s"));
  }
  CHECK(contains(progress_text(at, 80), "step  120/3000"));
  CHECK(contains(progress_text(at, 160), "11:40 so far"));
  const std::string log = progress_text(at, 0);
  CHECK(log ==
        "1:12:10 left   12/81   loss 0.01234     12.3 GFLOP/s   step  120/3000   white noise: heads=64 lr=0.003 "
        "seed=101   11:40 so far");
  at.most = 5 * 3600;
  CHECK(progress_text(at, 0).starts_with("1:12:10 left, at most 5:00:00   12/81   loss 0.01234"));
  at.left.reset();
  at.shown = {};
  at.gflops.reset();
  CHECK(progress_text(at, 40) == "12/81   [████▏                       ]");
}

TEST_CASE("the line of a run follows one trial until it ends, though others are trained beside it") {
  const StudyFile study(small_study());
  int status = -1;
  const std::string text =
      shown(study.folder(), "run study.toml --threads 2 --jobs 2 --set train.steps=1500", "", status);
  CHECK(status == 0);
  std::vector<std::string> followed;
  for (size_t at = text.find("step "); at != std::string::npos; at = text.find("step ", at + 1)) {
    const size_t label = text.find("heads=", at), end = text.find("   ", label);
    if (label == std::string::npos || end == std::string::npos || label > text.find('\r', at)) continue;
    const std::string trial = text.substr(label, end - label);
    if (followed.empty() || followed.back() != trial) followed.push_back(trial);
  }
  CHECK(followed.size() > 1);
  CHECK(std::set<std::string>(followed.begin(), followed.end()).size() == followed.size());
}

TEST_CASE("no line of a report or a plan is wider than a terminal of 80 columns") {
  const StudyFile study(small_study());
  int status = -1;
  for (const char* arguments : {"run study.toml --quiet", "report study.toml", "verify study.toml",
                                "plan --width 256 --token-dim 8 --decay exponential:0.3 --tables"}) {
    const std::string text = shown(study.folder(), arguments, "NO_COLOR=1", status, 80);
    CAPTURE(text);
    size_t at = 0;
    for (size_t end; (end = text.find("\r\n", at)) != std::string::npos; at = end + 2)
      CHECK(display_width(text.substr(at, end - at)) <= 80);
    CHECK(at > 0);
  }
}

TEST_CASE("a run of more than an hour needs --yes at a terminal, and names a quicker profile") {
  const StudyFile study(small_study() + "[profile.quick]\ntrain.steps = 3\n");
  int status = -1;
  const std::string asked = shown(study.folder(), "run study.toml --quiet --set train.steps=2000000000", "", status);
  CAPTURE(asked);
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(contains(asked, "what is left to train takes about "));
  CHECK(contains(asked, " by estimate; --profile quick takes less; --yes starts it (see headroom help run)"));
  CHECK_FALSE(std::filesystem::exists(study.folder() / "runs"));
  // A script is told, and never asked.
  Program script(study.folder(), "run study.toml --threads 1 --set train.steps=2000000000 </dev/null");
  while (script.is_running() && !contains(script.err(), " GFLOP/s")) usleep(10000);
  script.signal(SIGTERM);
  CHECK(script.wait() == 130);
  CHECK(contains(script.err(), "headroom: small · paper+train.steps=2000000000: what is left to train takes about "));
}
