// Every study of experiments/ and of examples/studies/ in its smoke profile, without data on disk: none may rot.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "experiments/studies/config/metrics.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/run/runner.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

void run_smoke(const std::filesystem::path& file) {
  const Study study = load_study(file.string(), "smoke");
  const TemporaryFolder out;
  const RunOptions options{.out = out.path(), .output = ProgressOutput::none};
  REQUIRE(run_trials(study, options));
  const StudyResults results = collect_results(study, out.path());
  REQUIRE(results.trials.size() == study.trials.size());
  std::map<std::string, std::set<std::string>> names;  // by trial
  for (const PlannedTrial& trial : study.trials) names[trial.id] = metric_names(trial.config);
  for (const TrialRecord& trial : results.trials) {
    CAPTURE(trial.series, trial.x, trial.message);
    CHECK(trial.status == TrialStatus::finished);
    CHECK_FALSE(trial.test.empty());
    for (const auto& [metric, value] : trial.test) {
      CAPTURE(metric);
      CHECK(std::isfinite(value));
      CHECK(names.at(trial.id).contains(metric));
    }
  }
  const Analysis analysis = analyse(results);
  write_report(analysis, out / "report");
  CHECK(std::filesystem::exists(out / "report/report.html"));
  CHECK_FALSE(terminal_table(analysis).empty());
}

std::vector<std::filesystem::path> study_files(const std::string& folder = "/experiments") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(headroom::testing::source_root() + folder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  return files;
}

const bool registered = [] {
  for (const char* folder : {"/experiments", "/examples/studies"})
    for (const std::filesystem::path& file : study_files(folder))
      register_test("smoke of " + file.stem().string(), "", [file] { run_smoke(file); });
  return true;
}();

}  // namespace

TEST_CASE("every claim of the studies says whose it is, and the quick law of the best number of heads is asked for") {
  for (const std::filesystem::path& file : study_files()) {
    for (const Study& study : load_profiles(file.string())) {
      for (const ClaimConfig& c : study.head.claims) {
        CAPTURE(file.string(), study.profile, claim_name(c));
        CHECK(!c.paper.empty() + !c.theorem.empty() + !c.ours.empty() == 1);
      }
      if (study.head.id == "optimum-law") CHECK(study.head.report.law.has_value());
    }
  }
}

TEST_CASE("an example asks one question, and judges a claim on it where it is run as it is") {
  for (const std::filesystem::path& file : study_files("/examples/studies")) {
    CAPTURE(file.string());
    const Study study = load_study(file.string(), base_profile);
    CHECK(study.head.id == file.stem().string());
    CHECK(study.head.question.ends_with("?"));
    REQUIRE(study.head.claims.size() == 1);
    CHECK_FALSE(study.head.claims[0].ours.empty());
  }
  CHECK(study_files("/examples/studies").size() == 10);
}

TEST_CASE("every study has a quick and a smoke profile beside its own keys, which are the paper's; some a medium one") {
  CHECK(registered);
  size_t studies = 0;
  for (const std::filesystem::path& file : study_files()) {
    CAPTURE(file.string());
    std::set<std::string> names;
    for (const Study& study : load_profiles(file.string())) names.insert(study.profile);
    names.erase("medium");  // of some
    CHECK(names == std::set<std::string>{base_profile, "quick", "smoke"});
    ++studies;
  }
  CHECK(studies >= 11);
}
