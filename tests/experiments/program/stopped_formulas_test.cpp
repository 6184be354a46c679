// Formulas of hours that a signal ends: the run keeps what is finished, and goes on from there.
#include <chrono>
#include <thread>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

/// Two trials: the first takes no time, the second more than a test has, in loops of its own kind.
std::string study(const std::string& task, const std::string& swept, const std::string& short_one,
                  const std::string& long_one, const std::string& metric) {
  return "[study]\nid = \"formula\"\n[task]\n" + task + "\n[sweep]\n\"task." + swept + "\" = [" + short_one + ", " +
         long_one + "]\n[report]\nx = { key = \"task." + swept + "\" }\ny = { metric = \"" + metric + "\" }\n";
}

std::vector<std::string> formulas() {
  return {
      study("kind = \"representability\"\nkernel = { kind = \"n-gram\", n = 4 }\ntoken_dim = 8\nlength = 64\n"
            "width = 256\nheads = 8\nstarts = 64\nrefine = 0",
            "steps", "1", "16777216", "relative_mse"),
      study("kind = \"random-projection\"\ndim = 64\nrank = 16", "samples", "2", "16777216", "mean_square"),
      study("kind = \"constructive-transformer\"\ntoken_dim = 8\nheads = 8\nlags = 4\nlength = 64", "sequences", "1",
            "1048576", "sup_error"),
      study("kind = \"softmax-bound\"\nhead = { kind = \"random\", width = 64, head_dim = 16, gain = 1 }", "length",
            "8", "8192", "jacobian_norm"),
  };
}

/// The exit status after a signal; a formula that does not look at it is killed, and fails the test.
int status_after(Program& program, int number) {
  program.signal(number);
  for (int i = 0; i < 600 && program.is_running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (program.is_running()) program.signal(SIGKILL);
  return program.wait();
}

}  // namespace

TEST_CASE("a signal ends a formula, and what was finished stays") {
  for (const std::string& formula : formulas()) {
    const StudyFile file(formula);
    CAPTURE(formula);
    for (const int number : {SIGINT, SIGTERM}) {
      Program run(file.folder(), "run study.toml --threads 2 --jobs 1 --quiet");
      for (int i = 0; i < 600 && run.is_running(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        Program status(file.folder(), "status formula", "", "status-");
        status.wait();
        if (contains(status.out(), "1 of 2 trials finished, 0 failed, 1 running")) break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // well into its loops
      REQUIRE(run.is_running());
      CHECK(status_after(run, number) == 130);
      CHECK(contains(run.err(), "stopped with 1 of 2 trials done; the same command goes on from here"));
    }
    Program report(file.folder(), "status formula");
    CHECK(report.wait() == 0);
    CHECK(contains(report.out(), "1 of 2 trials finished, 0 failed"));
  }
}
