// Damaged and hostile files of runs: what is whole is read, the rest is named, and nothing crashes.
#include <fmt/format.h>

#include "tests/experiments/judge/judge.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {

using namespace testing;

TEST_CASE("a file that is cut anywhere gives the runs that are whole, and names the rest") {
  const std::string csv = "arm,seed,test_loss\na,0,2.301\na,1,2.302\nb,0,2.401\n";
  const std::string json =
      "{\"arm\": \"a\", \"seed\": 0, \"test_loss\": 2.301}\n{\"arm\": \"a\", \"seed\": 1, \"test_loss\": 2.302}\n";
  for (const auto& [name, text] : {std::pair{std::string("r.csv"), csv}, {std::string("r.jsonl"), json}}) {
    const ForeignRuns whole = read_as(name, text);
    CHECK(whole.problems.empty());
    for (size_t length = 0; length < text.size(); ++length) {
      const ForeignRuns cut = read_as(name, text.substr(0, length));
      REQUIRE(cut.runs.size() <= whole.runs.size());
      bool is_whole = true;
      for (size_t i = 0; i < cut.runs.size(); ++i) is_whole = is_whole && cut.runs[i].metrics == whole.runs[i].metrics;
      const bool ends_in_line = length > 0 && text[length - 1] != '\n' && text[length] != '\n';
      if (!is_whole || (ends_in_line && length > csv.find('\n') + 1)) REQUIRE_FALSE(cut.problems.empty());
    }
  }
}

TEST_CASE(
    "the last line of a CSV counts without an end, and is doubtful where its last cell is shorter than all others") {
  const ForeignRuns whole = read_as("r.csv", "arm,loss\na,2.301\nb,2.402");
  CHECK(whole.runs.size() == 2);
  CHECK(whole.problems.empty());
  const ForeignRuns doubtful = read_as("r.csv", "arm,loss\na,2.301\nb,2.4");
  CHECK(doubtful.runs.size() == 2);
  CHECK(contains(doubtful.problems.at(0),
                 "r.csv:3: the last line has no end, so its last cell, \"2.4\", may be cut short"));
  CHECK(read_as("r.csv", "arm,loss\na,2.301\nb").runs.size() == 1);
  CHECK(read_as("r.csv", "arm,loss\na,2.301\nb,\"2.4").runs.size() == 1);
}

TEST_CASE("uneven rows, open quotes, double columns and broken lines are named") {
  CHECK(contains(read_as("r.csv", "a,loss\n1,2\n1,2,3\n1\n").problems.at(0), "3 (3 cells), 4 (1 cells)"));
  CHECK(contains(read_as("r.csv", "a,loss\n1,2\n\"1,2\n3,4\n").problems.at(0), "3 (its quote is never closed)"));
  CHECK(contains(read_as("r.csv", "a,a\n1,2\n").problems.at(0), "two columns are called \"a\""));
  const ForeignRuns lines = read_as(
      "r.jsonl", "{\"loss\": 1}\nnonsense\n[1]\n{\"loss\": NaN, \"t\": \"NaN\\\" x\"}\n{\"loss\": -Infinity}\n");
  CHECK(lines.runs.size() == 3);
  CHECK(contains(lines.problems.at(0), "not JSON objects: 2"));
}

TEST_CASE("a JSON document over many lines: one object, or a list of them") {
  CHECK(read_as("r.json", "{\n \"results\": {\"hellaswag\": {\"acc,none\": 0.5}}\n}\n")
            .runs.at(0)
            .metrics.count("results.hellaswag.acc,none") == 1);
  CHECK(read_as("r.json", "[\n {\"loss\": 1},\n {\"loss\": 2}\n]\n").runs.size() == 2);
}

TEST_CASE("bytes of any kind neither crash nor hang") {
  std::string deep(100000, '[');
  std::string objects;
  for (int i = 0; i < 50000; ++i) objects += "{\"a\":";
  std::string any;
  for (int i = 0; i < 4096; ++i) any += static_cast<char>(i * 131 + i / 7);
  for (const std::string& text : {std::string(), std::string("\n\n\n"), deep, objects, any, std::string(3, '\0'),
                                  std::string("a,loss\n") + std::string(3 << 20, '"'), std::string(1 << 20, ','),
                                  std::string("step,loss\n1e300,1\n-5,2\nnan,3\n"), std::string("\x1f\x8b\x08 broken")})
    for (const char* name : {"r.csv", "r.jsonl"}) {
      const ForeignRuns runs = read_as(name, text);
      RunRoles roles;
      guess_roles(roles, runs.runs, true);
      if (!roles.metric.empty() && !runs.runs.empty()) inventory(runs, roles, judged_runs(runs, roles), 80);
    }
}

TEST_CASE("rows of several runs: by seed and arm, by their own column, or where the steps start again") {
  const ForeignRuns by_seed =
      read_as("r.csv", "arm,seed,step,lr,loss\na,0,1,0.1,3\na,1,1,0.1,3.1\na,0,2,0.05,2\na,1,2,0.05,2.1\n");
  REQUIRE(by_seed.runs.size() == 2);
  CHECK(by_seed.runs[0].metrics.at("loss") == std::map<int64_t, double>{{1, 3}, {2, 2}});
  const ForeignRuns by_run = read_as("r.csv", "run,step,loss\nx,1,3\ny,1,3.1\nx,2,2\ny,2,2.1\n");
  CHECK(by_run.runs.size() == 2);
  const ForeignRuns by_step = read_as("r.jsonl",
                                      "{\"epoch\":0.5,\"step\":10,\"loss\":3}\n{\"epoch\":1,\"step\":20,\"loss\":2}\n"
                                      "{\"epoch\":1,\"step\":30,\"loss\":1}\n");
  CHECK(by_step.runs.at(0).metrics.at("loss") == std::map<int64_t, double>{{10, 3}, {20, 2}, {30, 1}});
  const ForeignRuns by_start = read_as("r.csv", "step,loss\n1,3\n2,2\n1,3.1\n2,2.1\n");
  CHECK(by_start.runs.size() == 2);
  CHECK(contains(by_start.problems.at(0), "nothing else tells their runs apart"));
}

TEST_CASE("settings stand in the names of folders, as sweeps write them") {
  const TemporaryFolder folder;
  for (const char* name : {"optimizer=adamw,seed=0", "optimizer=muon,seed=0"}) {
    std::filesystem::create_directory(folder / name);
    write_bytes(folder / name / "metrics.csv", "step,loss\n1,3\n2,2\n");
  }
  const ForeignRuns runs = read_runs({folder.path().string()}, {});
  REQUIRE(runs.runs.size() == 2);
  CHECK(runs.runs[1].parameters.at("optimizer") == "muon");
  CHECK(runs.runs[1].parameters.at("seed") == "0");
}

TEST_CASE("remarks at some rows do not split a run, whether [runs] or a run's column tells runs apart") {
  std::string text = "run_name,arm,replicate,epoch,loss,notes\n";
  for (const char* arm : {"plain", "rotary"})
    for (const char* replicate : {"a", "b", "c"})
      for (int epoch = 1; epoch <= 4; ++epoch)
        text += fmt::format("{}-{},{},{},{},{},{}\n", arm, replicate, arm, replicate, epoch,
                            2 + 0.5 / epoch + 0.01 * (replicate[0] - 'a') - (arm[0] == 'r' ? 0.1 : 0),
                            epoch == 1 && *replicate != 'b' ? "restarted" : "");
  Judging judging(
      "[runs]\nmetric = \"loss\"\nseries = \"arm\"\n[[claim]]\nkind = \"less_than\"\nseries = "
      "\"rotary\"\nthan = { series = \"plain\" }\n" +
      one_rate);
  judging.add("runs.csv", text);
  const Verdict verdict = judging.verdicts().at(0);
  CHECK(judging.runs.runs.size() == 6);
  CHECK(judging.judged.notes.empty());
  CHECK(judging.judged.summary == "6 runs in 2 arms, 3 seeds at each setting, loss after 4 steps");
  CHECK(verdict.status == VerdictStatus::pass);
  CHECK(read_runs(judging.paths, {}).runs.size() == 6);
  judging.paths.clear();
  judging.add("unnamed.csv", replaced(text, "run_name", "tag"));  // arms and replicates tell the runs apart
  judging.verdicts();
  CHECK(judging.runs.runs.size() == 6);
}

TEST_CASE("a run that ends before at_step is left out by name, and columns that are not there are refused") {
  const std::string text = "arm,seed,epoch,loss\na,1,1,3\na,1,2,2\na,2,1,3\na,2,2,2.1\nb,1,1,3\nb,1,2,1\nb,2,1,3\n";
  const std::string claim = "[[claim]]\nkind = \"less_than\"\nseries = \"b\"\nthan = { series = \"a\" }\n";
  const auto judge_with = [&](const std::string& roles) {
    Judging judging("[runs]\nmetric = \"loss\"\nseries = \"arm\"\n" + roles + claim);
    judging.add("runs.csv", text);
    judging.verdicts();
    CHECK(judging.says("loss ends before step 2"));
    CHECK(judging.judged.results.trials.size() == 3);
  };
  judge_with("at_step = 2\n");
  CHECK_THROWS_WITH(judge_with("step = \"epoc\"\n"),
                    Catch::Contains("step = \"epoc\"") && Catch::Contains("did you mean \"epoch\"?"));
  CHECK_THROWS_WITH(judge_with("run = \"id\"\n"), Catch::Contains("no such column; there are arm"));
}

}  // namespace headroom::experiments
