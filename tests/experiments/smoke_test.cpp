// Every study of experiments/ in its smoke profile, without data on disk: none may rot.
#include <cmath>
#include <filesystem>

#include "experiments/config/study.h"
#include "experiments/run/runner.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

void run_smoke(const std::filesystem::path& file) {
  const Study study = load_study(file.string(), "smoke");
  const TemporaryFolder out;
  RunOptions options;
  options.out = out.path();
  options.telling = Telling::quiet;
  REQUIRE(run_trials(study, options));
  const StudyResults results = collect_results(study, out.path());
  REQUIRE(results.trials.size() == study.trials.size());
  for (const TrialRecord& trial : results.trials) {
    CAPTURE(trial.series, trial.x, trial.message);
    CHECK(trial.status == TrialStatus::finished);
    CHECK_FALSE(trial.test.empty());
    for (const auto& [metric, value] : trial.test) {
      CAPTURE(metric);
      CHECK(std::isfinite(value));
    }
  }
}

const bool registered = [] {
  for (const auto& entry : std::filesystem::directory_iterator(headroom::testing::source_root() + "/experiments"))
    if (entry.path().extension() == ".toml")
      register_test("smoke of " + entry.path().stem().string(), "", [path = entry.path()] { run_smoke(path); });
  return true;
}();

}  // namespace

TEST_CASE("there are studies") { CHECK(registered); }
