// Files of other programs that make runs or keep them: data/ was written by wandb 0.12.21, 0.17.9 and 0.31.0,
// optuna 5.0.0, lm-eval 0.4.5 and 0.4.13, and hydra-core 1.3.8.
#include <filesystem>

#include "engine/error.h"
#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"
#include "tests/experiments/judge/judge.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Runs by their names, without what differs from writing to writing.
std::map<std::string, ForeignRun> by_name(const ForeignRuns& runs) {
  std::map<std::string, ForeignRun> named;
  for (const ForeignRun& run : runs.runs) named[parameter(run, "run_name")] = run;
  return named;
}

/// What read_yaml() says of a text; "" where it takes it.
std::string complaint_about(const std::string& yaml) {
  const TemporaryFolder folder;
  write_bytes(folder / "f.yaml", yaml);
  try {
    read_yaml(folder / "f.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("wandb of three releases gives equal parameters, metrics and ends") {
  const auto expected = by_name(read_runs({data_file("wandb-versions/0.31.0")}, {}));
  REQUIRE(expected.size() == 6);
  CHECK(expected.at("muon-1").parameters == std::map<std::string, std::string>{{"bf16", "true"},
                                                                               {"optimizer.lr", "0.002"},
                                                                               {"optimizer.name", "muon"},
                                                                               {"run_name", "muon-1"},
                                                                               {"seed", "1"}});
  CHECK(expected.at("muon-1").metrics.at("val.loss").size() == 3);
  CHECK(expected.at("adamw-0").end == RunEnd::finished);
  CHECK(expected.at("muon-2").end == RunEnd::failed);
  for (const char* release : {"0.12.21", "0.17.9"}) {
    const ForeignRuns runs = read_runs({data_file(std::string("wandb-versions/") + release)}, {});
    CHECK(runs.problems.empty());
    const auto own = by_name(runs);
    REQUIRE(own.size() == expected.size());
    for (const auto& [name, run] : expected) {
      INFO(release << " " << name);
      CHECK(own.at(name).parameters == run.parameters);
      CHECK(own.at(name).end == run.end);
      CHECK(own.at(name).began > 1.7e9);
      CHECK(own.at(name).ended >= own.at(name).began);
      for (const auto& [metric, values] : run.metrics)
        for (const auto& [step, value] : values) {
          const double found = own.at(name).metrics.at(metric).at(step);
          CHECK((found == value || (std::isnan(found) && std::isnan(value))));
        }
      CHECK(own.at(name).metrics.size() == run.metrics.size());
    }
  }
}

TEST_CASE("loggers say when runs began and ended") {
  for (const char* name : {"tensorboard", "wandb", "mlflow.db", "mlruns", "optuna.db", "optuna.log"}) {
    INFO(name);
    const ForeignRuns runs = read_runs({data_file(name)}, {});
    REQUIRE_FALSE(runs.runs.empty());
    for (const ForeignRun& run : runs.runs) {
      CHECK(run.began > 1.7e9);
      CHECK(run.ended >= run.began);
      CHECK(run.ended < run.began + 600);
    }
  }
  const ForeignRun trial = read_runs({data_file("optuna.db")}, {}).runs.at(0);
  CHECK(trial.began == 1795950419.582835);                                                // 2026-11-29 11:06:59.582835
  CHECK(read_runs({data_file("optuna.log")}, {}).runs.at(0).began == 1795966269.446396);  // in a zone: +00:00
  const ForeignRuns zoned =
      read_as("a.log",
              "{\"op_code\":0,\"study_name\":\"s\"}\n"
              "{\"op_code\":4,\"study_id\":0,\"datetime_start\":\"2026-11-29T12:06:59.5+01:00\"}\n");
  CHECK(zoned.runs.at(0).began == 1795950419.5);
  RunRoles roles;
  roles.metric = "value";
  roles.series = {"optimizer"};
  roles.rate = {"lr"};
  roles.seed = "seed";
  const JudgedRuns judged = judged_runs(read_runs({data_file("optuna.db")}, {}), roles);
  const auto same = [&](const TrialRecord& t) {
    return t.ended == trial.ended && t.seconds == trial.ended - trial.began;
  };
  CHECK(std::count_if(judged.results.trials.begin(), judged.results.trials.end(), same) == 1);
}

TEST_CASE("Optuna's journal tells in its first line what it is, and is read as far as it is whole") {
  const std::string text = read_bytes(data_file("optuna.log"));
  for (const char* name : {"a.log", "a.journal", "a.jsonl", "a.db", "a"}) CHECK(read_as(name, text).runs.size() == 18);
  const ForeignRuns whole = read_as("a.log", text);
  for (size_t length = 0; length < text.size(); length += 97) {
    const ForeignRuns cut = read_as("a.log", text.substr(0, length));
    for (size_t i = 0; i < cut.runs.size(); ++i)
      if (cut.runs[i].end == RunEnd::finished) REQUIRE(cut.runs[i].metrics == whole.runs[i].metrics);
  }
  const std::string study = "{\"op_code\":0,\"study_name\":\"s\"}\n", trial = "{\"op_code\":4,\"study_id\":0}\n";
  const std::string end = "{\"op_code\":6,\"trial_id\":0,\"state\":1,\"values\":[0.5,NaN]}\n";
  const ForeignRuns small =
      read_as("a.log", study + study + trial + end + "{\"op_code\":6,\"trial_id\":0,\"state\":3}\n");
  REQUIRE(small.runs.size() == 1);
  CHECK(small.runs[0].end == RunEnd::finished);  // nothing changes a trial that has ended
  CHECK(small.runs[0].metrics.at("value").at(0) == 0.5);
  CHECK(std::isnan(small.runs[0].metrics.at("value_1").at(0)));
  CHECK(read_as("a.log", study + trial + "{\"op_code\":1,\"study_id\":0}\n" + trial).runs.empty());
  const ForeignRuns hostile = read_as(
      "a.log", study + trial +
                   "{\"op_code\":5,\"trial_id\":-1}\n{\"op_code\":\"x\"}\n[]\n7\n{\"op_code\":5,\"trial_id\":0,\"param_"
                   "name\":[],"
                   "\"param_value_internal\":1e300,\"distribution\":\"{\"}\n{\"op_code\":4,\"study_id\":1e30}\n");
  CHECK(hostile.runs.size() == 1);
  CHECK(contains(hostile.problems.at(0), "no whole operations of Optuna"));
}

TEST_CASE("lm-evaluation-harness: a file is a run, and its tasks' metrics have names with a slash") {
  const ForeignRuns runs = read_runs({data_file("lm-eval")}, {});
  CHECK(runs.problems.empty());
  REQUIRE(runs.runs.size() == 5);
  for (const ForeignRun& run : runs.runs) {
    INFO(run.source);
    CHECK(run.metrics.at("small_choice/acc").at(0) > 0);
    CHECK(run.metrics.count("small_answer/exact_match,strict") == 1);
    CHECK(run.metrics.size() == 3);  // standard errors and sample sizes are none
    CHECK(parameter(run, "model") == "dummy");
    CHECK(parameter(run, "variant") == (contains(run.source, "-b-") ? "b" : "a"));
    CHECK(parameter(run, "random_seed") == (contains(run.source, "-1/") ? "1" : "0"));
    CHECK(parameter(run, "num_fewshot") == "0");
    CHECK(run.began > 1.7e9);
    CHECK(run.ended > run.began);
  }
  RunRoles roles;  // three further seeds follow the first
  guess_roles(roles, runs.runs, true);
  CHECK(roles.seed == "random_seed");
  CHECK(roles.series == std::vector<std::string>{"variant"});
  const ForeignRun args =
      read_as("results_1.json",
              "{\"results\":{\"t\":{\"acc,none\":0.5,\"acc_stderr,none\":\"N/A\",\"f1,a\":NaN}},"
              "\"config\":{\"model\":\"hf\",\"model_args\":\"pretrained=a/b,dtype=float32,ids=[1,2],=,x\"}}")
          .runs.at(0);
  CHECK(parameter(args, "pretrained") == "a/b");
  CHECK(parameter(args, "ids") == "[1,2]");
  CHECK(std::isnan(args.metrics.at("t/f1,a").at(0)));
  const std::string bytes = read_bytes(runs.runs.at(0).source);
  for (size_t length = 1; length < bytes.size(); length += 131)
    CHECK_FALSE(read_as("results_1.json", bytes.substr(0, length)).problems.empty());
  CHECK(read_as("results_1.json", "[{\"loss\": 1}, {\"loss\": 2}]").runs.size() == 2);  // not the harness's
}

TEST_CASE("Hydra's multirun: settings by dotted names and what was chosen of each group") {
  Judging judging("[runs]\nmetric = \"test_loss\"\nseries = \"optimizer\"\n" + muon_claim + one_rate);
  judging.paths = {data_file("hydra")};
  const Verdict verdict = judging.verdicts().at(0);
  REQUIRE(judging.runs.runs.size() == 6);
  CHECK(judging.runs.problems.empty());
  CHECK(verdict.status == VerdictStatus::pass);
  const ForeignRun& run = judging.runs.runs.back();
  CHECK(parameter(run, "optimizer") == "muon");
  CHECK(parameter(run, "optimizer.momentum") == "0.95");
  CHECK(parameter(run, "data.length") == "1024");
  CHECK(parameter(run, "seed") == "2");
  RunRoles roles;  // what only some runs have names no arm
  guess_roles(roles, judging.runs.runs, true);
  CHECK(roles.series == std::vector<std::string>{"optimizer"});
}

TEST_CASE("MLflow's meta.yaml: names with quotes, numbers and words for the end, and what is damaged") {
  const auto run_of = [](const std::string& meta, std::vector<std::string>& problems) {
    const TemporaryFolder folder;
    write_bytes(folder / "meta.yaml", meta);
    return read_mlflow_folder(folder.path(), problems);
  };
  std::vector<std::string> problems;
  const ForeignRun run =
      run_of("run_name: 'a: \"b\"'\nstatus: 4\nstart_time: 1795950419582\nend_time: null\n", problems);
  CHECK(parameter(run, "run_name") == "a: \"b\"");
  CHECK(run.end == RunEnd::failed);
  CHECK(run.began == 1795950419.582);
  CHECK(run.ended == 0);
  CHECK(run_of("status: RUNNING\n", problems).end == RunEnd::running);
  CHECK(run_of("status: 3\n", problems).end == RunEnd::finished);
  CHECK(run_of("status: 1e99\n", problems).end == RunEnd::failed);
  CHECK(problems.empty());
  run_of("status: [3\n", problems);
  run_of("- a\n- b\n", problems);
  CHECK(problems.size() == 1);
  CHECK(contains(problems.at(0), "meta.yaml:"));
}

TEST_CASE("a damaged .hydra folder is named, and its run's metrics are read") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "0/.hydra");
  write_bytes(folder / "0/metrics.csv", "step,loss\n1,3\n2,2\n");
  write_bytes(folder / "0/summary.csv", "loss\n2\n");
  write_bytes(folder / "0/.hydra/config.yaml", "lr: 0.1\n  seed: [\n");
  write_bytes(folder / "0/.hydra/overrides.yaml", "- lr=0.1\n- ++model.depth=2\n- ~data\n- =\n- {a: b}\n");
  const ForeignRuns runs = read_runs({folder.path().string()}, {});
  REQUIRE(runs.runs.size() == 1);
  CHECK(runs.runs[0].metrics.at("loss").at(2) == 2);
  CHECK(parameter(runs.runs[0], "model.depth") == "2");
  CHECK(contains(runs.problems.at(0), "config.yaml:2"));
}

TEST_CASE("hostile YAML is bounded, and named with its line") {
  CHECK(complaint_about("a: 1\nb: [x, ~, {c: d}]\n").empty());
  CHECK(contains(complaint_about("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), "f.yaml:2: aliases are not read"));
  CHECK(contains(complaint_about(std::string(300, '[') + std::string(300, ']')),
                 "f.yaml:1: its values are nested too deep"));
  CHECK(contains(complaint_about(std::string(100'000, '[')), "f.yaml:1: "));
  CHECK(contains(complaint_about(std::string(100'000, '{')), "f.yaml:1: "));
  std::string dashes, many = "[";
  for (int i = 0; i < 20'000; ++i) dashes += "- ";
  for (int i = 0; i < 120'000; ++i) many += "1,";
  CHECK(contains(complaint_about(dashes), "f.yaml:1: "));
  CHECK(contains(complaint_about(many + "]"), "f.yaml:1: there are too many values"));
  CHECK(contains(complaint_about("? [a, b]\n: c\n"), "a key is a list or a map"));
  CHECK(contains(complaint_about("a: 1\n\tb: 2\n c: \"\n"), "f.yaml:"));
  CHECK(contains(complaint_about(std::string((1 << 20) + 1, 'a')), "f.yaml"));
  for (const char* odd :
       {"", "%YAML 9.9\n---\n", "--- >\n", "!!binary |\n", "\xff\xfe\x00", "*a", "&a &b c", "{a: b", "%TAG ! !\n"})
    complaint_about(odd);
}

}  // namespace headroom::experiments
